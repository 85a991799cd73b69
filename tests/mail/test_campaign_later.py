"""A server that says "later" about one recipient of a campaign: it is tried again, and is no
failure."""

from pathlib import Path

import pytest

from postroad import Postroad
from postroad.model import campaign
from postroad.model.campaign import AGAIN_MS, Counts, HaltRule, again_at_ms, must_halt
from postroad.model.credential import CredentialSpec
from tests.campaigns.conftest import dsn  # noqa: F401 - a fixture
from tests.campaigns.stories import reaches, running, write_csv
from tests.mail.mail_server import MailServer
from tests.mail.test_attachments import relayed

MINUTE_MS = 60_000


async def prepared(road: Postroad, server: MailServer, folder: Path, people: list[str]) -> None:
    spec = CredentialSpec(server.url, sender="shop@example.com")
    await road.credentials.put("main", spec, "", kind="smtp", check=False)
    await road.campaigns.create("c", credential="main", template="Hi", subject="Hi")
    await road.campaigns.import_file("c", write_csv(folder / "p.csv", people))


def test_waits_grow_and_end_after_five_tries() -> None:
    now_ms = 1_000 * MINUTE_MS + 1
    waits = [again_at_ms(count, 0, now_ms) - now_ms for count in range(len(AGAIN_MS))]
    assert [round(wait / MINUTE_MS) for wait in waits] == [6, 16, 61, 121]  # at full minutes
    assert again_at_ms(len(AGAIN_MS), 0, now_ms) == 0
    assert again_at_ms(0, 30 * MINUTE_MS, now_ms) == 1_031 * MINUTE_MS  # a rule's own time


def test_temporary_answers_do_not_count_towards_the_halt() -> None:
    counts = Counts(total=100, sent=50, failed=50, temporary=45)
    assert not must_halt(counts, HaltRule())
    assert must_halt(Counts(total=100, sent=50, failed=50, temporary=5), HaltRule())


async def test_who_is_greylisted_is_tried_again_and_who_stays_refused_halts_nothing(
    dsn: str,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(campaign, "AGAIN_MS", (5, 5, 5, 5))
    monkeypatch.setattr(campaign, "AGAIN_STEP_MS", 1)
    people = [f"p{n}@example.com" for n in range(9)] + [f"grey{n}@example.com" for n in range(3)]
    people += [f"r452-4.2.2@{n}.example.com" for n in range(15)] + ["r421-4.7.0@example.com"]
    with MailServer() as server:
        async with running(relayed(dsn, server)) as road:
            await prepared(road, server, tmp_path, people)
            await road.campaigns.start("c")
            counts = (await reaches(road, "done")).counts
            assert (counts.sent, counts.failed, counts.temporary) == (12, 16, 16)
            page = await road.campaigns.recipients("c", state="failed")
            assert {one.code for one in page} == {"4.2.2", "4.7.0"}
            await road.campaigns.retry("c")
            counts = (await reaches(road, "done")).counts
            assert (counts.sent, counts.failed, counts.temporary) == (12, 16, 16)
    assert len(server.mails) == 12


async def test_a_run_until_idle_does_not_wait_for_the_next_try(
    dsn: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    with MailServer() as server:
        async with relayed(dsn, server) as road:
            await prepared(road, server, tmp_path, ["ann@example.com", "grey@example.com"])
            await road.campaigns.start("c")
            await road.run(until_idle=True)
            shown = await road.campaigns.show("c")
            assert (shown.state, shown.counts.sent, shown.counts.unsent) == ("running", 1, 1)
            assert "said later" in shown.reason


async def test_a_block_that_has_ended_is_not_shown(dsn: str, tmp_path: Path) -> None:  # noqa: F811
    with MailServer() as server:
        async with relayed(dsn, server) as road:
            await prepared(road, server, tmp_path, ["ann@example.com"])
            store, now_ms = road.campaign_service.store, road.store.clock.now_ms()
            found = await store.credential("default", "main")
            assert found is not None
            await store.block_credential(found.id, now_ms + 600_000, "too fast", 1)
            assert (await road.campaigns.show("c")).block_reason == "too fast"
            await store.block_credential(found.id, now_ms - 1, "too fast", 1)
            shown = await road.campaigns.show("c")
            assert (shown.blocked_until_ms, shown.block_reason) == (0, "")
