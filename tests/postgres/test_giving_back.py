"""Lanes that could not be given back are not forgotten."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from postroad.model.errors import StoreUnavailable
from postroad.model.record import Claim, Release
from tests.fleet.loads import Doors, door, road_of

Within = Callable[[Coroutine[Any, Any, Any]], Any]


def test_a_release_that_fails_while_a_claim_is_under_way_leaves_no_lane_to_nobody(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        doors = Doors()
        async with road_of(dsn, doors) as road:
            claim, release = road.store.claim, road.store.release
            wanted, asked, failed = asyncio.Event(), asyncio.Event(), asyncio.Event()

            async def give_back(owner: int, lanes: Sequence[Release]) -> dict[int, int]:
                if failed.is_set():
                    return await release(owner, lanes)
                wanted.set()
                await asked.wait()
                failed.set()
                raise StoreUnavailable("the connection was lost")

            async def take(
                owner: int,
                levels: Sequence[int],
                pools: Sequence[str],
                limit: int,
                without: Sequence[str] = (),
            ) -> Claim:
                if wanted.is_set() and not failed.is_set():
                    asked.set()
                    await failed.wait()
                    await asyncio.sleep(0.1)  # the failure is heard of before the answer
                return await claim(owner, levels, pools, limit, without)

            road.store.release = give_back  # type: ignore[method-assign]
            road.store.claim = take  # type: ignore[method-assign]
            running = asyncio.create_task(road.run())
            async with asyncio.timeout(60):
                await road.send(door(1), 1)
                await doors.answered(1)
                await wanted.wait()
                await road.send(door(2), 2)
                await doors.answered(2)
            async with asyncio.timeout(20):  # after 30 s peers declare a silent owner dead
                await road.send(door(1), 3)
                await doors.answered(3)
            road.stop()
            await running

    within(story())
