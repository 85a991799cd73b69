"""While answers are full the next claim is under way before the last one is taken in."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from postroad.model.entities import Message, Queue
from postroad.model.errors import StoreUnavailable
from postroad.model.limits import Limits
from postroad.model.outcome import Outcome
from postroad.model.record import Claim, Record, Recorded
from tests.fleet.loads import Doors, door, open_doors, road_of, send_round
from tests.fleet.states import ask

Within = Callable[[Coroutine[Any, Any, Any]], Any]
LANES = 600
DELIVERED = "select count(*), count(distinct id) from postroad.history"


class Patient(Doors):
    """Doors that answer when they are told to."""

    def __init__(self) -> None:
        super().__init__()
        self.many, self.answer = asyncio.Event(), asyncio.Event()
        self._under_way = 0

    async def send(self, queue: Queue, message: Message, /) -> Outcome:
        """Waits."""
        self._under_way += 1
        if self._under_way == Limits().claim_batch:
            self.many.set()
        await self.answer.wait()
        return await super().send(queue, message)


async def filled(dsn: str, doors: Doors) -> None:
    async with road_of(dsn, doors) as road:
        names = [door(n) for n in range(LANES)]
        await open_doors(road, doors, names)
        await send_round(road, names, LANES)


def test_the_next_claim_leaves_before_the_last_answer_is_taken_in(dsn: str, within: Within) -> None:
    async def story() -> list[tuple[int, int]]:
        doors = Doors()
        await filled(dsn, doors)
        seen, given = [], 0
        async with road_of(dsn, doors) as road:
            claim = road.store.claim

            async def watched(
                owner: int,
                levels: Sequence[int],
                pools: Sequence[str],
                limit: int,
                without: Sequence[str] = (),
            ) -> Claim:
                nonlocal given
                known = len(road.engine.lanes) if road.engine else 0
                seen.append((known, given))
                claimed = await claim(owner, levels, pools, limit, without)
                given += len(claimed.lanes)
                return claimed

            road.store.claim = watched  # type: ignore[method-assign]
            running = asyncio.create_task(road.run())
            async with asyncio.timeout(60):
                await doors.answered(LANES)
            road.stop()
            await running
        return seen

    seen = within(story())
    assert any(known < given for known, given in seen), seen
    assert tuple(ask(dsn, DELIVERED)[0]) == (LANES, LANES)


def test_lanes_that_wait_only_to_be_recorded_take_no_room(dsn: str, within: Within) -> None:
    """More lanes than this process has room for, and nothing is recorded before all were tried."""

    async def story() -> None:
        doors = Doors()
        await filled(dsn, doors)
        tried = asyncio.Event()
        async with road_of(dsn, doors) as road:
            assert road.settings.limits.in_flight_max < LANES < road.settings.limits.unrecorded_max
            write = road.store.record

            async def held_up(record: Record) -> Recorded:
                await tried.wait()
                return await write(record)

            road.store.record = held_up  # type: ignore[method-assign]
            running = asyncio.create_task(road.run())
            async with asyncio.timeout(60):
                await doors.answered(LANES)
            tried.set()
            road.stop()
            await running

    within(story())
    assert tuple(ask(dsn, DELIVERED)[0]) == (LANES, LANES)


def test_lanes_of_one_claim_do_not_wait_for_each_others_answers(dsn: str, within: Within) -> None:
    async def story() -> None:
        doors = Patient()
        await filled(dsn, doors)
        async with road_of(dsn, doors) as road:
            running = asyncio.create_task(road.run())
            async with asyncio.timeout(60):
                await doors.many.wait()  # as many as one claim brings are under way at once
                doors.answer.set()
                await doors.answered(LANES)
            road.stop()
            await running

    within(story())
    assert tuple(ask(dsn, DELIVERED)[0]) == (LANES, LANES)


def test_lanes_of_a_claim_ahead_whose_answer_is_lost_are_served_all_the_same(
    dsn: str, within: Within
) -> None:
    async def story() -> int:
        doors = Doors()
        await filled(dsn, doors)
        lost = 0
        async with road_of(dsn, doors) as road:
            claim = road.store.claim
            asked = 0

            async def cut(
                owner: int,
                levels: Sequence[int],
                pools: Sequence[str],
                limit: int,
                without: Sequence[str] = (),
            ) -> Claim:
                nonlocal asked, lost
                asked += 1
                claimed = await claim(owner, levels, pools, limit, without)
                if asked == 2:
                    lost = len(claimed.lanes)
                    raise StoreUnavailable("the answer was lost on its way")
                return claimed

            road.store.claim = cut  # type: ignore[method-assign]
            running = asyncio.create_task(road.run())
            async with asyncio.timeout(60):
                await doors.answered(LANES)
            road.stop()
            await running
        return lost

    assert within(story()) > 0
    assert tuple(ask(dsn, DELIVERED)[0]) == (LANES, LANES)
