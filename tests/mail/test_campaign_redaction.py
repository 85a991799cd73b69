"""Columns of a campaign that are redacted are sent, and neither shown nor logged."""

import logging
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.credential import CredentialSpec
from postroad.model.mail_settings import MailSettings
from tests.mail.mail_server import MailServer

CODE = "code-4711-4711"
OPEN = "plain-0815"
FILE = f"recipient,code,note\nrepeat@example.com,{CODE},{OPEN}\n"


async def told_of(road: Postroad, server: MailServer, folder: Path) -> list[str]:
    """All that is shown of a campaign whose server repeats what it refuses."""
    (folder / "people.csv").write_text(FILE)
    spec = CredentialSpec(server.url, sender="shop@example.com")
    await road.credentials.put("main", spec, "", kind="smtp", check=False)
    text = "Hi {{ note }}: {{ code }}"
    await road.campaigns.create("sale", credential="main", subject="Hi", template=text)
    await road.campaigns.import_file("sale", folder / "people.csv")
    preview = await road.campaigns.preview("sale")
    tested = await road.campaigns.test_send("sale", "repeat@example.com")
    await road.campaigns.start("sale")
    await road.run(until_idle=True)
    listed = await road.campaigns.recipients("sale")
    forms = ("csv", "ndjson")
    exports = [piece for form in forms async for piece in road.campaigns.export("sale", form)]
    whose: tuple[dict[str, Any], ...] = ({"tenant": "default"}, {"recipient": "repeat@example.com"})
    personal = [piece.decode() for one in whose async for piece in road.privacy.export(**one)]
    return [repr(preview), repr(tested), repr(listed), *exports, *personal]


@pytest.mark.parametrize("rule", ["", "/code", "sale /code", "other /code"])
async def test_a_redacted_column_is_sent_and_not_shown(
    tmp_path: Path, rule: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with MailServer() as server:
        mail = MailSettings(allow=("127.0.0.1",))
        settings = Settings(mail=mail, redact=(rule,) if rule else ())
        async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings) as road:
            told = await told_of(road, server, tmp_path)
    hidden = rule in ("/code", "sale /code")
    # The receiving server of this test logs what it is sent.
    logged = [record.getMessage() for record in caplog.records if record.name == "postroad"]
    shown = "".join([*told, *logged])
    assert "not wanted: " in shown
    assert OPEN in shown
    assert (CODE in shown) == (not hidden)
    assert not hidden or all("…" in told[place] for place in (0, 1, 2, 4))


async def test_an_export_asks_for_a_campaign_once_a_page_and_not_for_each_recipient(
    tmp_path: Path,
) -> None:
    settings = Settings(redact=("sale /code",))
    async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings) as road:
        rows = "".join(f"p{n}@example.com,{CODE},{OPEN}\n" for n in range(400))
        (tmp_path / "people.csv").write_text(FILE + rows)
        spec = CredentialSpec("smtp://127.0.0.1:9", sender="shop@example.com")
        await road.credentials.put("main", spec, "", kind="smtp", check=False)
        await road.campaigns.create("sale", credential="main", subject="Hi", template="Hi")
        await road.campaigns.import_file("sale", tmp_path / "people.csv")
        before = sum(road.store.queries.values())
        told = b"".join([piece async for piece in road.privacy.export(tenant="default")]).decode()
        assert (told.count(OPEN), told.count(CODE)) == (401, 0)
        assert sum(road.store.queries.values()) - before < 200
