"""What is stored about a tenant or a recipient is exported and erased, and nothing else."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from postroad import Message, Postroad
from postroad.engine.drafting import Send
from postroad.engine.erasing import run_erasures
from postroad.model.campaign import CallResult, RowState
from postroad.model.errors import BadInput, UnknownErasure
from postroad.model.privacy import Erasure, Subject
from postroad.stores import personal_data
from postroad.stores.erased_tables import ERASED, HOLDS_NOTHING
from tests.campaigns.provider import ROOT
from tests.privacy.tenants import (
    HOOK,
    PERSON,
    SECRET,
    counted,
    exported,
    move_in,
    new_road,
    send_all,
)

STAYS = {"audit", "erasure", "event_set"}
NOT_MADE = {
    "endpoint_hour",
    "mail_report",
    "arrival",
    "event_arrival",
    "unused_queue",
    "broker_message",
    "campaign_op",
    "job",
    "campaign_import",
}
"""Tables on the list that `move_in` leaves empty; others show how they are erased."""


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step takes more than one transaction."""
    monkeypatch.setattr(personal_data, "SLICE", 3)
    monkeypatch.setattr(personal_data, "QUEUES_SLICE", 2)


async def erased(road: Postroad, tenant: str = "", recipient: str = "") -> Erasure:
    """Ask, and wait for the end."""
    job = await road.privacy.erase(tenant=tenant or None, recipient=recipient or None)
    done = await road.privacy.erasure(job.id, tenant=None, wait=30)
    assert done.is_done, done
    return done


async def test_every_table_is_erased_or_holds_nothing_of_a_tenant(dsn: str) -> None:
    async with new_road(dsn):
        pass
    tables = set(await counted(dsn))
    assert tables - ERASED.keys() - HOLDS_NOTHING.keys() == set(), "place these tables"
    assert not ERASED.keys() & HOLDS_NOTHING.keys()


async def test_a_tenant_is_erased_whole_and_another_is_untouched(dsn: str, folder: Path) -> None:
    async with new_road(dsn) as road:
        for tenant in ("acme", "blue"):
            await move_in(road, tenant, folder)
        await send_all(road, "acme", "blue")
        async with asyncio.timeout(60):  # the index of lists on SQLite follows a second later
            while not (before := await counted(dsn)).get("listed", 1):
                assert (await road.messages.list(tenant="acme", queue="job")).messages
                await asyncio.sleep(0.1)
        assert {name for name in ERASED if before.get(name) == 0} <= NOT_MADE | STAYS
        others = await exported(road, "blue")
        own = await exported(road, "acme")
        assert [line["kind"] for line in own] == [line["kind"] for line in others]
        done = await erased(road, "acme")
        assert await exported(road, "blue") == others
        left = await exported(road, "acme")
        assert {line["kind"] for line in left} == {"audit"}
        assert [line["what"] for line in left if line["verb"] == "pause_queue"] == [{}]
        assert done.kept_queues == 0
        assert done.erased["history"] + done.erased["dead"] == 12
        await erased(road, "blue")
        after = await counted(dsn)
        # The default tenant has its handler's queue, which is the program's.
        own_queue = {"queue": 1, "queue_lane": 16, "lane": 16}
        full = {name: after[name] for name in ERASED if after.get(name) and name not in STAYS}
        full.pop("lane_level", None)
        assert full == own_queue


async def test_an_export_has_everything_but_secrets(dsn: str, folder: Path) -> None:
    async with new_road(dsn) as road:
        await move_in(road, "acme", folder)
        await send_all(road, "acme")
        lines = await exported(road, "acme")
        kinds = {line["kind"] for line in lines}
        assert kinds == {
            "tenant",
            "queue",
            "webhook",
            "endpoint",
            "event",
            "limit",
            "message",
            "dead",
            "kept_body",
            "job_output",
            "batch",
            "batch_held",
            "timetable",
            "history",
            "attempt",
            "attachment",
            "webhook_try",
            "campaign",
            "recipient",
            "suppression",
            "credential",
            "mailbox",
            "letter",
            "token",
            "audit",
        }
        assert SECRET not in str(lines)
        (dead,) = [line for line in lines if line["kind"] == "dead"]
        assert (dead["queue"], dead["body"], dead["reason"]) == ("job", "bad", "rejected")
        history = [line for line in lines if line["kind"] == "history"]
        assert len(history) == len({line["id"] for line in history}) == 4
        assert all(line["tenant"] == "acme" for line in lines)


async def test_one_recipient_is_erased_and_the_counts_of_its_campaigns_add_up(
    dsn: str, folder: Path
) -> None:
    async with new_road(dsn) as road:
        for tenant in ("default", "blue"):
            await move_in(road, tenant, folder)
        await send_all(road, "default", "blue")
        others = await exported(road, "blue")
        rest = [line for line in await exported(road, "default") if line["kind"] == "history"]
        done = await erased(road, recipient=PERSON)
        assert done.erased["campaign_message"] == 1
        status = await road.campaigns.show("c")
        assert status.counts.total == 1
        assert await road.campaigns.exact("c") == status.counts
        assert await exported(road, "default", PERSON) == []
        done = await erased(road, recipient=HOOK)
        assert done.erased["history"] == 2
        assert done.erased["webhook_try"] > 0
        assert await exported(road, "default", HOOK) == []
        left = [line for line in await exported(road, "default") if line["kind"] == "history"]
        assert left == [line for line in rest if line["queue"] != HOOK]
        assert await exported(road, "blue") == others


async def test_the_recipient_is_stored_only_while_the_job_runs(dsn: str, folder: Path) -> None:
    async with new_road(dsn) as road:
        await move_in(road, "default", folder)
        done = await erased(road, recipient=HOOK)
        assert len(done.recipient_digest) == 64
        (line,) = (await road.audit.list(verb="privacy_erased")).lines
        assert (line.count, line.what["erasure"]) == (done.count, str(done.id))
        assert line.what["recipient_sha256"] == done.recipient_digest
        page = await road.audit.list(verb="pause_queue")
        assert [line.what for line in page.lines] == [{}]
        assert not await road.store.erasures_waiting()
        assert HOOK not in str(await road.privacy.erasures(tenant=None))


async def test_a_try_in_flight_is_waited_for_and_told(dsn: str) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    road = new_road(dsn)

    @road.handler("slow")
    async def slow(_message: Message[int]) -> None:
        begun.set()
        await go_on.wait()

    async with road:
        await road.send("slow", 1, tenant="acme")
        running = asyncio.ensure_future(road.run())
        await begun.wait()
        job = await road.privacy.erase(tenant="acme")
        while not (found := await road.privacy.erasure(job.id, tenant=None)).waits_for:
            await asyncio.sleep(0.02)
        assert (found.step, found.waits_for) == ("messages", 1)
        go_on.set()
        done = await road.privacy.erasure(job.id, tenant=None, wait=30)
        assert done.erased["history"] == 1
        assert {line["kind"] for line in await exported(road, "acme")} == {"audit"}
        road.stop()
        await running


async def waits(road: Postroad, number: int, step: str) -> None:
    """Until an erasure waits in a step."""
    while True:
        found = await road.privacy.erasure(number, tenant=None)
        assert not found.is_done
        if (found.step, bool(found.waits_for)) == (step, True):
            return
        await asyncio.sleep(0.02)


async def test_a_call_of_a_campaign_is_waited_for(dsn: str, folder: Path) -> None:
    async with new_road(dsn) as road:
        await move_in(road, "default", folder)
        await road.campaigns.start("c")
        store, owner = road.campaign_service.store, road.owner
        job = await store.claim(owner, 60_000)
        assert job is not None
        assert await store.enqueue(owner, job, 10) == 2
        ((n, tries),) = (await store.intend(owner, job, [1])).tries.items()
        asked = await road.privacy.erase(recipient=PERSON)
        await waits(road, asked.id, "recipients")
        now_ms = road.store.clock.now_ms()
        result = CallResult(n, tries, RowState.sent, "id", started_at_ms=now_ms)
        await store.record(job.campaign, [result])
        done = await road.privacy.erasure(asked.id, tenant=None, wait=30)
        assert done.erased["campaign_message"] == 1
        counts = (await road.campaigns.show("c")).counts
        assert (counts.total, counts.sent, counts.unsent) == (1, 0, 1)
        assert await road.campaigns.exact("c") == counts
        everything = await road.privacy.erase(tenant="default")
        await waits(road, everything.id, "campaigns")
        await store.release(owner, job)
        done = await road.privacy.erasure(everything.id, tenant=None, wait=30)
        assert done.is_done
        assert {name: done.erased[name] for name in ("job", "campaign_op", "campaign_message")} == {
            "job": 1,
            "campaign_op": 1,
            "campaign_message": 1,
        }


async def test_what_is_sent_after_the_question_stays_and_its_queue_is_told(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(personal_data, "LANES_WAIT_MS", 0)
    async with new_road(dsn) as road:
        await road.send(HOOK, "new", tenant="acme")
        earlier_ms = road.store.clock.now_ms() - 60_000
        number = await road.store.erasure_add(Subject("acme"), earlier_ms)
        await run_erasures(road.store, road.log)
        done = await road.privacy.erasure(number, tenant=None)
        assert (done.is_done, done.kept_queues, done.erased) == (True, 1, {})
        (message,) = [line for line in await exported(road, "acme") if line["kind"] == "message"]
        assert message["body"] == "new"


async def test_an_erasure_goes_on_after_a_kill_and_counts_each_row_once(dsn: str) -> None:
    async with new_road(dsn) as road:
        sends = [Send("job", n, tenant=("acme", "blue")[n % 2]) for n in range(400)]
        await road.send_many(sends)
        await road.run(until_idle=True)
        kept = await exported(road, "blue")
        number = await road.store.erasure_add(Subject("acme"), road.store.clock.now_ms())
    command = [sys.executable, "-m", "tests.privacy.eraser_process", dsn]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)  # noqa: ASYNC220
    try:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == b"begun\n"
    finally:
        process.kill()
        process.communicate()
    async with new_road(dsn) as road:
        half = await road.privacy.erasure(number, tenant=None)
        assert not half.is_done
        assert 0 < half.erased.get("history", 0) < 200
        running = asyncio.ensure_future(road.run())  # whoever delivers goes on
        done = await road.privacy.erasure(number, tenant=None, wait=30)
        road.stop()
        await running
        assert done.erased["history"] == 200
        # Batches of history that are written anew may have another place among the others.
        assert sorted(await exported(road, "blue"), key=repr) == sorted(kept, key=repr)
        finished = [line["id"] for line in kept if line["kind"] == "history"]
        for number_text in finished[::40]:  # found by id, out of batches that were written anew
            assert (await road.explain(number_text, tenant="blue")).state == "delivered"


async def test_bad_questions_say_what_to_do(dsn: str) -> None:
    async with new_road(dsn) as road:
        with pytest.raises(BadInput, match="say whose"):
            await road.privacy.erase()
        with pytest.raises(BadInput, match="name one"):
            await road.privacy.erase(tenant="*")
        with pytest.raises(BadInput, match="recipient is empty"):
            await road.privacy.erase(tenant="acme", recipient="")
        with pytest.raises(UnknownErasure):
            await road.privacy.erasure(99)
        other = await road.privacy.erase(tenant="acme")
        with pytest.raises(UnknownErasure):
            await road.privacy.erasure(other.id, tenant="blue")
