"""Rings of the fleet's bell inside a process."""

import asyncio
from functools import partial

from postroad.model.errors import StoreUnavailable
from postroad.observe.log import make_log
from postroad.observe.tasks import Tasks
from postroad.ports.clock import LoopClock
from postroad.stores.postgres.bell import RINGS_AT_ONCE, RINGS_EVERY_MS, FleetBell
from postroad.stores.postgres.floors import Floors
from postroad.testing.simloop import SimLoop

LANES = 10 * RINGS_AT_ONCE + 1


class Heard:
    """An engine that notes which lanes it is rung for."""

    def __init__(self) -> None:
        self.lanes: list[int] = []

    def on_ready(self, level: int, at_ms: int) -> None: ...

    def on_lane(self, lane: int, _rung: int, _due_ms: int) -> None:
        """It is looked at whole."""
        self.lanes.append(lane)

    def on_recall(self, lane: int, number: int) -> None: ...

    def on_expiry(self, at_ms: int) -> None: ...

    def holds(self, _lane: int, _number: int) -> bool:
        """Nothing."""
        return False


def test_ten_thousands_of_lanes_are_not_looked_at_in_one_go() -> None:
    """Each look is work for the loop: others go between, and none is left out."""

    async def story() -> None:
        async def send(_payload: str) -> None: ...

        bell = FleetBell(LoopClock(), send, lambda: None, Floors(), Tasks(make_log("error")))
        heard = Heard()
        bell.lanes[1] = set(range(LANES))
        bell.listen(1, heard)
        bell.ring_lanes()
        await asyncio.sleep(RINGS_EVERY_MS / 2000)
        assert len(heard.lanes) == RINGS_AT_ONCE
        await asyncio.sleep(5)
        assert sorted(heard.lanes) == list(range(LANES))

    with SimLoop(1) as loop:
        loop.run(story(), limit_s=60)


def test_a_ring_of_another_process_wakes_those_who_work_at_its_kind() -> None:
    async def story() -> None:
        async def send(_payload: str) -> None: ...

        bell = FleetBell(LoopClock(), send, lambda: None, Floors(), Tasks(make_log("error")))
        rung: list[str] = []
        for who in ("campaigns", "replays", "timetables 1", "timetables 2"):
            bell.on_own[who] = partial(rung.append, who)
        bell.hear('{"own": "timetables"}', own=False)
        assert rung == ["timetables 1", "timetables 2"]
        bell.ring_all()
        assert rung[2:] == ["campaigns", "replays", "timetables 1", "timetables 2"]

    with SimLoop(1) as loop:
        loop.run(story(), limit_s=60)


def test_what_ended_and_what_is_waited_for_is_told_when_the_store_is_back() -> None:
    """Who waits looks again by himself only after a minute."""

    async def story() -> None:
        told: list[str] = []

        async def send(payload: str) -> None:
            told.append(payload)
            if len(told) == 1:
                raise StoreUnavailable("away")

        bell = FleetBell(LoopClock(), send, lambda: None, Floors(), Tasks(make_log("error")))
        bell.ring_ended([7])
        bell.want(8)
        await asyncio.sleep(60)
        assert told == ['{"ended":[7]}', '{"ended":[7]}', '{"wanted":[8]}']

    with SimLoop(1) as loop:
        loop.run(story(), limit_s=100)
