"""A message that comes between a claim and its answer does not wait for the next claim."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from postroad.model.record import Claim
from tests.fleet.loads import Doors, door, open_doors, road_of

Within = Callable[[Coroutine[Any, Any, Any]], Any]


def test_a_ring_that_comes_before_the_answer_of_the_claim_counts(dsn: str, within: Within) -> None:
    async def story() -> None:
        doors = Doors()
        async with road_of(dsn, doors) as road:
            await open_doors(road, doors, [door(1)])
            await road.send(door(1), "first")
            claim = road.store.claim
            brought: list[int] = []

            async def slowly(
                owner: int,
                levels: Sequence[int],
                pools: Sequence[str],
                limit: int,
                without: Sequence[str] = (),
            ) -> Claim:
                claimed = await claim(owner, levels, pools, limit, without)
                brought.extend(len(r.messages) for r in claimed.readings.values())
                if brought == [1]:
                    await road.send(door(1), "second")
                    await asyncio.sleep(0)  # its ring is heard before this is known
                return claimed

            road.store.claim = slowly  # type: ignore[method-assign]
            running = asyncio.create_task(road.run())
            async with asyncio.timeout(60):
                await doors.answered(2)
            assert brought == [1]  # else it waited until the lane was given back and claimed anew
            road.stop()
            await running

    within(story())
