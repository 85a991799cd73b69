"""Answers and callbacks in any order: what is known is kept, nobody is sent to twice, none is stuck."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from postroad.model.campaign import CallResult, RowState
from postroad.model.credential import CredentialSpec
from postroad.model.entities import Message, Queue
from postroad.model.outcome import Outcome
from postroad.model.recipients import recipient_of
from postroad.transports.sms.channel import sign, signed
from postroad.transports.sms.session import SmsSession
from tests.campaigns.provider import HELD, Provider, busiest
from tests.campaigns.stories import local, numbers, prepare, reaches, running, until, write_csv
from tests.campaigns.test_store import LEASE_MS, ME, OTHER, Bench, bench
from tests.servers.postgres import PrivatePostgres

Within = Callable[[Any], Any]


@pytest.fixture
def tell(dsn: str, provider: Provider, tmp_path: Path, within: Within) -> Callable[..., None]:
    """Runs a story on a campaign of ten that runs."""

    def run(story: Callable[[Bench], Any]) -> None:
        async def whole() -> None:
            async with local(dsn) as road:
                await story(await bench(road, provider, tmp_path))

        within(whole())

    return run


def test_a_callback_that_is_faster_than_the_answer_keeps_the_times(
    tell: Callable[..., None],
) -> None:
    async def story(here: Bench) -> None:
        begun = await here.begin(await here.claim(), 1)
        assert await here.store.callback(here.campaign.id, 1, "SM1", "queued", "")
        result = CallResult(1, begun[1], RowState.sent, "SM1", started_at_ms=5, answered_at_ms=6)
        await here.store.record(here.campaign.id, [result])
        (found,) = await here.road.campaigns.recipients("c", state="sent")
        assert (found.provider_id, found.status) == ("SM1", "queued")
        assert 5 < found.sent_at_ms <= found.answered_at_ms
        assert (await here.counts()).sent == 1

    tell(story)


def test_a_message_that_is_read_after_all_is_not_counted_as_lost(
    tell: Callable[..., None],
) -> None:
    async def story(here: Bench) -> None:
        await here.begin(await here.claim(), 1)
        for status, lost in (("sent", 0), ("undelivered", 1), ("failed", 1), ("read", 0)):
            assert await here.store.callback(here.campaign.id, 1, "SM1", status, "")
            assert (await here.counts()).undelivered == lost, status

    tell(story)


def test_a_late_answer_is_found_where_repetitions_are_allowed_too(
    dsn: str, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            await road.credentials.put("hooks", CredentialSpec(""), "s" * 32, kind="webhook")
            await road.campaigns.create("c", credential="hooks", template="Hi")
            people = [f"http://127.0.0.1/{n}" for n in range(3)]
            await road.campaigns.import_file("c", write_csv(tmp_path / "a.csv", people))
            await road.campaigns.start("c")
            campaign = await road.campaign_service.store.campaign("default", "c")
            assert campaign is not None
            here = Bench(road, campaign)
            job = await here.claim()
            begun = await here.begin(job, 3)
            await here.store.renew(ME, -1, [job.id])  # its lease has ended
            assert await here.store.reap(repeats=["webhook"]) == 1
            late = [
                CallResult(1, begun[1], RowState.sent),
                CallResult(2, begun[2], RowState.unsent),
            ]
            await here.store.record(job.campaign, late)
            assert (await here.counts()).sent == 1
            assert await here.begin(await here.claim(OTHER), 10, OTHER) == {2: 2, 3: 2}

    within(story())


RECORDS = (
    "delete from postroad.campaign_op where campaign_id = 1 and n = 1",
    "update postroad.campaign_message set state = 'sent', provider_id = 'SM1' where n = 1",
    "update postroad.campaign set sent = sent + 1",
)
WAITS = "select exists (select from pg_stat_activity where wait_event_type = 'Lock')"


def test_a_callback_and_its_answer_do_not_wait_for_each_other(
    server: PrivatePostgres, provider: Provider, tmp_path: Path, within: Within
) -> None:
    dsn = server.create_road()

    async def story() -> None:
        async with local(dsn) as road:
            here = await bench(road, provider, tmp_path)
            await here.begin(await here.claim(), 1)
            recorder, watcher = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
            async with recorder.transaction():
                await recorder.execute(RECORDS[0])
                told = asyncio.create_task(here.store.callback(1, 1, "SM1", "sent", ""))
                await until(lambda: watcher.fetchval(WAITS))
                for step in RECORDS[1:]:
                    await recorder.execute(step)
            assert await told
            assert (await here.counts()).sent == 1
            assert (
                await watcher.fetchval(
                    "select deadlocks from pg_stat_database where datname = current_database()"
                )
                == 0
            )
            for connection in (recorder, watcher):
                await connection.close()

    within(story())


def test_a_signature_that_is_no_ascii_is_nobodys() -> None:
    assert signed("token", "http://here", {}, sign("token", "http://here", {}))
    assert not signed("token", "http://here", {}, "é")


def test_a_call_that_breaks_is_uncertain_and_the_rest_goes_on(
    dsn: str,
    provider: Provider,
    tmp_path: Path,
    within: Within,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send = SmsSession.send

    async def breaking(session: SmsSession, queue: Queue, message: Message) -> Outcome:
        if recipient_of(message) == numbers(2)[1]:
            raise RuntimeError("a bug")
        return await send(session, queue, message)

    monkeypatch.setattr(SmsSession, "send", breaking)

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(5))
            await road.campaigns.start("c")
            done = await reaches(road, "done")
            assert (done.counts.sent, done.counts.uncertain) == (4, 1)
            (found,) = await road.campaigns.recipients("c", state="uncertain")
            assert (found.recipient, found.sub_type) == (numbers(2)[1], "broke")

    within(story())


def test_what_is_in_flight_keeps_its_lease_while_its_process_ends(
    server: PrivatePostgres, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn = server.create_road()

    async def story(provider: Provider) -> None:
        renewed = 0
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(1))
            store = road.campaign_service.store
            renew = store.renew

            async def counting(*values: Any) -> Any:
                nonlocal renewed
                renewed += 1
                return await renew(*values)

            await road.campaigns.start("c")

            async def begun() -> bool:
                return bool(provider.arrivals())

            await until(begun)
            monkeypatch.setattr(store, "renew", counting)
            road.stop()
            await asyncio.sleep(0)
            renewed = 0

            async def again() -> bool:
                return renewed > 0

            await until(again)
            provider.release()

    with Provider(tmp_path, latency_ms=HELD) as provider:
        within(story(provider))

        async def look() -> None:
            async with local(dsn) as road:
                assert (await road.campaigns.exact("c")).sent == 1

        within(look())


def test_a_test_send_waits_for_its_slot(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, numbers(1), rate="2/s")
            sends = [road.campaigns.test_send("c", to) for to in numbers(4, "+1700")]
            assert {one.state for one in await asyncio.gather(*sends)} == {"sent"}

    within(story())
    assert len(provider.arrivals()) == 4
    assert busiest(provider.arrivals()) <= 2


def test_an_estimate_is_of_what_is_left(tell: Callable[..., None]) -> None:
    async def story(here: Bench) -> None:
        begun = await here.begin(await here.claim(ME, LEASE_MS), 4)
        results = [CallResult(n, tries, RowState.sent) for n, tries in begun.items()]
        await here.store.record(here.campaign.id, results)
        assert (await here.road.campaigns.dry_run("c")).recipients == 6

    tell(story)
