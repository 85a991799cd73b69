"""The port as a bulk sender uses it, and a store that is away or whose clock is set."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from postroad.model.entities import LaneKey, Policy, QueueSpec
from postroad.model.errors import BadInput, StoreUnavailable
from postroad.model.pace import Ask, Reserved, read_limit
from postroad.pacing.pacer import GRACE_S, Pacer
from postroad.pacing.store_time import StoreTime
from postroad.ports.clock import LoopClock
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from postroad.testing.simloop import SimLoop
from tests.pacing.windows import breaches
from tests.pacing.worlds import LOG

KEY = LaneKey("sms", "api.example", "account-7")


class Odd(SqliteStore):
    """The real store; now and then it is away, or its clock is set."""

    away = False
    ahead_us = 0

    async def reserve(self, asks: Sequence[Ask]) -> Reserved:
        if self.away:
            raise StoreUnavailable("away")
        reserved = await super().reserve(asks)
        return Reserved(reserved.now_us + self.ahead_us, reserved.grants)


def lived(story: Callable[[Odd, Pacer, tuple[int, ...]], Awaitable[None]], rate: str) -> None:
    """A story with a pacer on a credential with a limit, in simulated time."""

    async def whole(folder: Path) -> None:
        store = Odd(folder / "road.db", LoopClock(), drive=InlineDrive)
        await store.open()
        (queue,) = await store.open_queues([QueueSpec("default", "x", KEY, 1, Policy())])
        assert await store.limit_lane(queue.lanes[0], read_limit(rate, 3))
        pace = Pacer(store, store.clock, LOG)
        running = asyncio.get_running_loop().create_task(pace.run())
        await story(store, pace, await store.ledgers(KEY))
        running.cancel()
        await store.close()

    with tempfile.TemporaryDirectory() as folder, SimLoop(1) as loop:
        loop.run(whole(Path(folder)), strict=False)


def test_campaigns_on_one_credential_both_move_and_keep_to_its_limit() -> None:
    starts: list[tuple[float, int]] = []
    sent = {"spring": 0, "autumn": 0}

    async def campaign(pace: Pacer, ledgers: tuple[int, ...], name: str, cost: int) -> None:
        clock = pace.clock
        while clock.steady_s() < 20:
            block = await pace.block(ledgers, name, 30, cost)
            if not block.slots_s:
                await clock.sleep(max(0.001, block.again_s - clock.steady_s()))
            for slot_s in block.slots_s:  # its intents are committed before this
                if await pace.on_time(slot_s):
                    starts.append((clock.steady_s() * 1e6, cost))
                    sent[name] += cost

    async def story(_store: Odd, pace: Pacer, ledgers: tuple[int, ...]) -> None:
        await asyncio.gather(
            campaign(pace, ledgers, "spring", 3), campaign(pace, ledgers, "autumn", 1)
        )

    lived(story, "60/s")
    assert breaches(read_limit("60/s", 3), starts) == []
    assert abs(sent["spring"] - sent["autumn"]) < 60, sent
    assert sum(sent.values()) > 0.85 * 60 * 20, sent


def test_a_start_that_costs_more_than_the_limit_was_set_for_is_refused() -> None:
    async def story(_store: Odd, pace: Pacer, ledgers: tuple[int, ...]) -> None:
        with pytest.raises(BadInput, match="cost=4"):
            await pace.block(ledgers, "a", 5, 4)
        assert (await pace.block(ledgers, "a", 5, 3)).slots_s

    lived(story, "60/s")


def test_a_slot_whose_grace_ended_before_it_was_taken_is_not_used() -> None:
    async def story(_store: Odd, pace: Pacer, ledgers: tuple[int, ...]) -> None:
        woken = asyncio.Event()
        line = pace.reserver(ledgers, "a", woken.set)
        assert not line.ready(lambda: 1)
        await woken.wait()
        assert line.ready(lambda: 1)
        await pace.clock.sleep(GRACE_S + 0.001)
        assert not line.ready(lambda: 0)
        assert not await pace.on_time(line.take())

    lived(story, "60/s")


def test_while_the_store_is_away_nothing_starts_and_then_it_goes_on() -> None:
    async def story(store: Odd, pace: Pacer, ledgers: tuple[int, ...]) -> None:
        for _ in range(2):  # also before it has ever answered
            store.away = True
            refused = await pace.block(ledgers, "a", 5)
            assert refused.slots_s == ()
            assert refused.again_s > pace.clock.steady_s()
            store.away = False
            await pace.clock.sleep(1)
            assert (await pace.block(ledgers, "a", 5)).slots_s

    lived(story, "60/s")


def test_slots_of_a_store_whose_clock_was_set_are_not_used() -> None:
    async def story(store: Odd, pace: Pacer, ledgers: tuple[int, ...]) -> None:
        for ahead_us in (30_000_000, -30_000_000):
            assert (await pace.block(ledgers, "a", 5)).slots_s
            await pace.clock.sleep(2)
            store.ahead_us += ahead_us
            assert (await pace.block(ledgers, "a", 5)).slots_s == ()
            await pace.clock.sleep(2)

    lived(story, "60/s")


def test_a_slot_is_void_when_its_grace_is_over() -> None:
    async def story(_store: Odd, pace: Pacer, ledgers: tuple[int, ...]) -> None:
        block = await pace.block(ledgers, "a", 3)
        assert await pace.on_time(block.slots_s[0])
        assert pace.clock.steady_s() >= block.slots_s[0]
        await pace.clock.sleep(block.slots_s[1] - pace.clock.steady_s() + GRACE_S + 0.001)
        assert not await pace.on_time(block.slots_s[1])
        assert pace.forfeited == 1

    lived(story, "60/s")


def test_the_stores_time_is_known_as_well_as_the_best_answers_prove() -> None:
    time = StoreTime()
    assert time.learn(1_000_000_000, 5.0, 5.5)
    assert 0.5 <= time.doubt_s < 0.51
    assert time.learn(1_001_000_000, 6.2, 6.21)
    assert time.doubt_s < 0.02
    assert time.learn(1_002_000_000, 7.1, 7.9)  # a slow answer takes nothing away
    assert time.doubt_s < 0.02
    assert abs(time.here_s(1_010_000_000) - 15.21) < 0.02
    assert not time.learn(1_040_000_000, 9.0, 9.01)  # it was set
    assert time.doubt_s < 0.02
