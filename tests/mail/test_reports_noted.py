"""What came back is seen with the message, counts towards a threshold, and is in the audit log."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.errors import BadSetting
from postroad.model.mail_report import ReportKind, read_soft_bounces
from postroad.model.mail_settings import MailSettings
from tests.mail.bounce_client import DOMAIN
from tests.mail.mail_server import MailServer
from tests.suppressions.reports import arf, dsn

ANN = "ann@example.com"
SOFT = "5.2.2"
MAIL: dict[str, Any] = {"subject": "Hi", "text": "Hello"}


@asynccontextmanager
async def sent(folder: Path, mails: int, **mail: Any) -> AsyncIterator[tuple[Postroad, list[str]]]:
    """A road that has sent Ann so many mails, and their return paths."""
    with MailServer() as server:
        given = {"bounce_domain": DOMAIN, "sender": "shop@example.com", **mail}
        settings = Settings(mail=MailSettings(server.url, **given))
        async with Postroad(f"sqlite:///{folder}/road.db", settings=settings) as road:
            await road.send_many([(f"mailto:{ANN}", MAIL) for _ in range(mails)])
            await road.run(until_idle=True)
            yield road, [one.sender for one in server.mails]


async def taken(road: Postroad, path: str, status: str, **more: str) -> int:
    """Report about a mail; how many were suppressed by it."""
    said = await road.suppressions.take_report(dsn(ANN, status=status, **more), to=path)
    assert (said.reports, said.ignored) == (1, 0)
    return said.suppressed


async def reasons(road: Postroad) -> list[str]:
    return [str(one.reason) for one in (await road.suppressions.list()).suppressions]


async def test_soft_bounces_of_enough_mails_suppress_and_one_mail_does_not(tmp_path: Path) -> None:
    async with sent(tmp_path, 3, soft_bounces="3/7d/3") as (road, paths):
        for status in (SOFT, "4.4.7", "5.3.0", SOFT):
            assert await taken(road, paths[0], status) == 0, "one mail, whatever is said of it"
        assert await taken(road, paths[1], SOFT) == 0, "two mails"
        assert await taken(road, paths[1], SOFT) == 0, "the same report again"
        assert await taken(road, paths[2], SOFT) == 1
        assert await reasons(road) == ["soft_bounce"]
        assert await taken(road, paths[2], SOFT) == 0
        held = await road.send(f"mailto:{ANN}", MAIL)
        await road.run(until_idle=True)
        assert (await road.explain(held.id)).state == "dead"


async def test_a_delivery_in_between_begins_the_count_anew(tmp_path: Path) -> None:
    async with sent(tmp_path, 4, soft_bounces="2/7d/2") as (road, paths):
        assert await taken(road, paths[0], SOFT) == 0
        assert await taken(road, paths[1], "2.1.5", action="delivered") == 0
        assert await taken(road, paths[2], SOFT) == 0
        assert await taken(road, paths[3], SOFT) == 1


async def test_soft_bounces_that_are_too_old_do_not_count(tmp_path: Path) -> None:
    async with sent(tmp_path, 3, soft_bounces="2/7d/2") as (road, paths):
        now_ms = road.store.clock.now_ms
        road.store.clock.now_ms = lambda: now_ms() - 8 * 86_400_000  # type: ignore[method-assign]
        assert await taken(road, paths[0], SOFT) == 0
        road.store.clock.now_ms = now_ms  # type: ignore[method-assign]
        assert await taken(road, paths[1], SOFT) == 0
        assert await taken(road, paths[2], SOFT) == 1


@pytest.mark.parametrize(("soft", "status"), [("1/7d/1", "5.7.1"), ("", SOFT)])
async def test_policy_never_suppresses_nor_does_anything_soft_without_a_threshold(
    tmp_path: Path, soft: str, status: str
) -> None:
    async with sent(tmp_path, 3, soft_bounces=soft) as (road, paths):
        for path in paths:
            assert await taken(road, path, status) == 0
        assert await reasons(road) == []


async def test_a_message_says_what_came_back_about_it(tmp_path: Path) -> None:
    async with sent(tmp_path, 1) as (road, paths):
        (listed,) = (await road.messages.list()).messages
        assert (await road.explain(listed.id)).reports == ()
        for _ in range(2):
            await taken(road, paths[0], "5.1.1")
        await road.suppressions.take_report(arf(ANN), to=paths[0])
        said = await road.explain(listed.id)
        assert said.state == "delivered"
        kinds = [(one.kind, one.code) for one in said.reports]
        assert kinds == [(ReportKind.hard_bounce, "5.1.1"), (ReportKind.complaint, "")]
        assert said.sentence.endswith("complaint.")


async def test_a_complaint_that_names_nobody_is_about_whom_the_mail_was_for(tmp_path: Path) -> None:
    async with sent(tmp_path, 2) as (road, paths):
        redacted = (
            arf(ANN).replace(b"Original-Rcpt-To", b"X-Was").replace(b"\r\nTo: <ann", b"\r\nX: <ann")
        )
        forged = paths[0].replace(paths[0][5], "a" if paths[0][5] != "a" else "b", 1)
        said = await road.suppressions.take_report(redacted, to=forged)
        assert (said.reports, said.ignored) == (1, 1)
        said = await road.suppressions.take_report(redacted, to=paths[0])
        assert (said.suppressed, said.ignored) == (1, 0)
        assert await reasons(road) == ["complaint"]


async def test_a_complaint_is_the_last_word_about_a_campaigns_recipient(tmp_path: Path) -> None:
    from postroad.model.credential import CredentialSpec
    from tests.campaigns.stories import write_csv

    with MailServer() as server:
        settings = MailSettings(server.url, "shop@example.com", bounce_domain=DOMAIN)
        options = Settings(mail=settings)
        async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=options) as road:
            spec = CredentialSpec(sender="shop@example.com")
            await road.credentials.put("main", spec, "", kind="smtp", check=False)
            await road.campaigns.create("c", credential="main", template="Hi", subject="Hi")
            await road.campaigns.import_file("c", write_csv(tmp_path / "p.csv", [ANN]))
            await road.campaigns.start("c")
            await road.run(until_idle=True)
            path = server.mails[0].sender

            async def status() -> tuple[str, int]:
                (row,) = await road.campaigns.recipients("c")
                return row.status, (await road.campaigns.show("c")).counts.undelivered

            await taken(road, path, SOFT)
            assert await status() == ("bounced", 1)
            await taken(road, path, "2.1.5", action="delivered")
            assert await status() == ("bounced", 1), "a delivery that is reported late"
            await road.suppressions.take_report(arf(ANN), to=path)
            assert await status() == ("complained", 0)
            await taken(road, path, "5.1.1")
            assert await status() == ("complained", 0)


async def test_what_the_listener_suppresses_has_one_line_in_the_audit_log(tmp_path: Path) -> None:
    async with sent(tmp_path, 1) as (road, paths):
        for _ in range(2):
            await road.campaign_service._take(dsn(ANN), paths[0])
        (line,) = (await road.audit.list()).lines
        assert (line.actor, line.verb, line.outcome) == (
            "bounce listener",
            "suppression_add",
            "done",
        )
        assert line.what["recipient"] == ANN
        assert line.what["reason"] == "hard_bounce"


async def test_reports_are_erased_and_exported_with_their_recipient(tmp_path: Path) -> None:
    async with sent(tmp_path, 1) as (road, paths):
        await taken(road, paths[0], SOFT)
        assert b'"soft_bounce"' in await exported(road)
        job = await road.privacy.erase(recipient=f"mailto:{ANN}")
        await road.run(until_idle=True)
        async with asyncio.timeout(60):
            while (await road.privacy.erasure(job.id)).ended_at_ms is None:
                await asyncio.sleep(0.01)
        assert b'"mail_report"' not in await exported(road)


async def exported(road: Postroad) -> bytes:
    return b"".join([piece async for piece in road.privacy.export(recipient=f"mailto:{ANN}")])


def test_thresholds_are_read(tmp_path: Path) -> None:
    found = read_soft_bounces("5/7d/3")
    assert found is not None
    assert (found.count, found.days, found.mails) == (5, 7, 3)
    assert read_soft_bounces("") is None
    for wrong in ("5", "5/7/3", "0/7d/1", "a/7d/1", "5/7d/3 "):
        with pytest.raises(BadSetting, match=r"mail\.soft_bounces"):
            Postroad(
                f"sqlite:///{tmp_path}/road.db",
                settings=Settings(mail=MailSettings(soft_bounces=wrong)),
            )
