"""A process that is told to end does so, whether its store is there or not."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from postroad import Message, Postroad
from postroad.campaigns import worker
from postroad.campaigns.worker import CampaignWorker
from postroad.model.entities import LaneKey, Queue, QueueSpec
from postroad.model.errors import StoreUnavailable
from postroad.model.limits import Limits
from postroad.ports.transport import Session
from postroad.verbs import campaign_service
from tests.campaigns.provider import HELD, Provider
from tests.campaigns.stories import LOCAL, local, numbers, prepare, reaches, running, until
from tests.servers.postgres import PrivatePostgres
from tests.servers.proxy import Proxy

Within = Callable[[Any], Any]


def test_what_cannot_be_written_at_the_end_is_uncertain_and_not_sent_again(
    server: PrivatePostgres, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results waited for a store that never came back, and the process with them."""
    monkeypatch.setattr(worker, "LEASE_MS", 2_000)
    dsn = server.create_road()

    async def leave(provider: Provider, proxy: Proxy) -> None:
        road = Postroad(proxy.dsn(), settings=replace(LOCAL, limits=Limits(drain_s=1.0)))
        async with running(road):
            await prepare(road, provider, tmp_path, numbers(3))
            await road.campaigns.start("c")

            async def begun() -> bool:
                return len(provider.arrivals()) == 3

            await until(begun)
            await asyncio.to_thread(proxy.down)
            provider.release()

    async def look() -> None:
        async with running(local(dsn)) as road:
            await reaches(road, "done")
            assert (await road.campaigns.exact("c")).uncertain == 3

    with Provider(tmp_path, HELD) as provider:
        with Proxy(dsn) as proxy:
            within(leave(provider, proxy))
        within(look())
        assert len(provider.arrivals()) == 3


def test_while_senders_end_the_engine_starts_nothing_more(tmp_path: Path, within: Within) -> None:
    """It went on as long as their calls took, and began to end only then."""
    dsn = f"sqlite:///{tmp_path}/road.db"

    async def story(provider: Provider) -> None:
        road = local(dsn)
        started: list[int] = []
        may_end = asyncio.Event()

        @road.handler("work", concurrency=1)
        async def work(message: Message[int]) -> None:
            started.append(message.body)
            await may_end.wait()

        async def under_way() -> bool:
            return len(provider.arrivals()) == 3 and bool(started)

        async def stopping() -> bool:
            return road.engine is None or road.engine._runners.stopping

        async def gone_or_going_on() -> bool:
            return road.engine is None or not road.engine.lanes or len(started) > 1

        async with running(road):
            await prepare(road, provider, tmp_path, numbers(3))
            await road.campaigns.start("c")
            await road.send_many([("work", 1), ("work", 2)])
            await until(under_way)
            road.stop()
            await until(stopping)  # the breach: it would not, as long as the calls take
            may_end.set()
            await until(gone_or_going_on)
            assert len(started) == 1
            provider.release()
        assert len(started) == 1
        async with local(dsn) as road:
            assert (await road.campaigns.exact("c")).sent == 3
            assert (await road.store.counts())["waiting"] == 1

    with Provider(tmp_path, HELD) as provider:
        within(story(provider))


def test_a_job_that_is_claimed_while_the_worker_stops_is_given_back(
    tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else all of it was sent first."""
    dsn = f"sqlite:///{tmp_path}/road.db"

    async def story(provider: Provider) -> None:
        road = local(dsn)
        open_queues = road.store.open_queues

        async def stopped_meanwhile(specs: Sequence[QueueSpec]) -> list[Queue]:
            road.stop()
            while road.engine is not None and road.engine._claimers:
                if all(task.done() for task in road.engine._claimers):
                    break
                await asyncio.sleep(0.01)
            return await open_queues(specs)

        road.hears_signals = False
        async with road:
            await prepare(road, provider, tmp_path, numbers(50), rate="1/s")
            await road.campaigns.start("c")
            monkeypatch.setattr(road.store, "open_queues", stopped_meanwhile)
            await road.run()
            assert (await road.campaigns.exact("c")).sent < 50

    with Provider(tmp_path) as provider:
        within(story(provider))


def test_a_run_until_idle_hears_its_stop_while_a_campaign_is_sent(
    tmp_path: Path, within: Within
) -> None:
    """It ended when all were sent."""

    async def story(provider: Provider) -> None:
        async with local(f"sqlite:///{tmp_path}/road.db") as road:
            await prepare(road, provider, tmp_path, numbers(1_000), rate="1/s")
            await road.campaigns.start("c")
            run = asyncio.create_task(road.run(until_idle=True))

            async def begun() -> bool:
                return bool(provider.arrivals())

            await until(begun)
            road.stop()
            await run

    with Provider(tmp_path) as provider:
        within(story(provider))


def test_a_run_whose_campaigns_were_cut_returns(
    tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked as if somebody had cancelled the run itself."""
    cut: list[bool] = []

    async def for_ever(_worker: CampaignWorker) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cut.append(True)

    async def leave() -> None:
        settings = replace(LOCAL, limits=Limits(drain_s=0.1))
        async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings) as road:
            asyncio.get_running_loop().call_later(0.1, road.stop)
            await road.run()

    monkeypatch.setattr(CampaignWorker, "run", for_ever)
    monkeypatch.setattr(campaign_service, "LEAVE_S", 0.0)
    within(leave())
    assert cut == [True]


def test_a_store_that_fails_after_a_session_was_opened_leaves_none_open(
    tmp_path: Path,
    provider: Provider,
    within: Within,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The job is taken again when the store is back, with a session of its own."""
    monkeypatch.setattr(worker, "LEASE_MS", 1_000)
    sessions: list[Session] = []
    closed: list[Session] = []

    async def story() -> None:
        road = local(f"sqlite:///{tmp_path}/road.db")
        store, transport = road.campaign_service.store, road.campaign_service.channels["sms"]
        real_open, real_renew = transport.open, store.renew
        failed: list[bool] = []

        async def opening(lane: LaneKey) -> Session:
            session = await real_open(lane)
            sessions.append(session)
            real_close = session.close

            async def close() -> None:
                closed.append(session)
                await real_close()

            monkeypatch.setattr(session, "close", close)
            return session

        async def fails_once(*given: object) -> object:
            if not failed:
                failed.append(True)
                raise StoreUnavailable("away")
            return await real_renew(*given)  # type: ignore[arg-type]

        async with road:
            await prepare(road, provider, tmp_path, numbers(1))
        monkeypatch.setattr(transport, "open", opening)
        monkeypatch.setattr(store, "renew", fails_once)
        async with running(road):
            await road.campaigns.start("c")
            await reaches(road, "done")
        assert failed

    within(story())
    assert len(sessions) > 1
    assert closed == sessions
