"""Each handler's own ladder, and priorities, in simulated time."""

import asyncio
from itertools import pairwise
from typing import Any

from postroad import Message, Postroad, Send
from postroad.model.ladder import Exponential, Steps
from tests.rig.world import World, simulate


def test_each_handler_climbs_its_own_ladder() -> None:
    """Steps, exponential, and `retries` that cuts either."""

    async def story(world: World) -> None:
        tries: dict[str, list[float]] = {"steps": [], "exponential": [], "cut": []}
        ladders: dict[str, dict[str, Any]] = {
            "steps": {"ladder": Steps(retries=2, delays_ms=(10_000, 100_000))},
            "exponential": {"ladder": Exponential(retries=5, base_ms=8_000)},
            "cut": {"ladder": Exponential(retries=5, base_ms=8_000), "retries": 1},
        }

        def equip(_name: str, road: Postroad) -> None:
            for name, options in ladders.items():

                async def fails(message: Message[str]) -> None:
                    tries[message.body].append(world.loop.time())
                    raise ValueError("no")

                road.handler(name, **options)(fails)

        world.equip = equip
        member = world.start("one")
        await asyncio.sleep(1)
        for name in ladders:
            await member.road.send(name, name)
        await asyncio.sleep(3600)
        expected = {"steps": [10, 100], "exponential": [8, 16, 32, 64, 128], "cut": [8]}
        for name, waits in expected.items():
            gaps = [b - a for a, b in pairwise(tries[name])]
            assert len(gaps) == len(waits)
            for gap, wait in zip(gaps, waits, strict=True):
                assert 0.74 * wait <= gap <= 1.3 * wait + 0.5
        assert (await world.store.counts())["dead"] == 3

    simulate(2, story)


def test_a_higher_priority_is_handled_first() -> None:
    """Each of a handler's 16 lanes keeps to it, and they take turns."""

    async def story(world: World) -> None:
        seen: list[int] = []

        def equip(_name: str, road: Postroad) -> None:
            @road.handler("work", concurrency=1)
            async def work(message: Message[int]) -> None:
                await asyncio.sleep(1)
                seen.append(message.body)

        world.equip = equip
        world.start("one")
        await asyncio.sleep(1)
        await world.stop("one")
        sends = [Send("work", p, priority=p) for p in (0, -9, 9, 5) * 40]
        await world.client.send_many(sends)
        world.start("two")
        await asyncio.sleep(400)
        quarters = [sum(seen[n : n + 40]) / 40 for n in (0, 40, 80, 120)]
        assert quarters == sorted(quarters, reverse=True)
        assert quarters[0] > 6
        assert quarters[3] < -3

    simulate(3, story)
