"""What a mail server repeats of a mail is not shown where a field of it is redacted."""

from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.mail_settings import MailSettings
from tests.mail.mail_server import MailServer

CODE = "code-4711-4711"


@pytest.mark.parametrize("rules", [(), ("/text",)])
async def test_a_refusal_that_repeats_a_mail_is_redacted(tmp_path: Path, rules: Any) -> None:
    with MailServer() as server:
        mail = MailSettings(server.url, sender="Shop <shop@example.com>")
        settings = Settings(mail=mail, redact=rules)
        async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings) as road:
            sent = await road.send("mailto:repeat@example.com", {"subject": "Hi", "text": CODE})
            await road.run(until_idle=True)
            told = repr([await road.explain(sent.id), (await road.messages.list()).messages])
            pieces = [piece async for piece in road.privacy.export(tenant="default")]
    told += b"".join(pieces).decode()
    assert "not wanted: " in told
    assert (CODE in told) == (not rules)
