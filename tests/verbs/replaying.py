"""Replays while the engine runs: one function for the quick test and for the proof."""

import asyncio
from collections import Counter

from postroad.model.errors import BadInput
from postroad.model.ids import to_text
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.receivers import QUICK
from tests.rig.world import World, simulate

TRIES = {"once": 1, "reset": 1 + QUICK.ladder.retries}
SERVERS = ("ash", "birch", "cedar")


def replay_chains(seed: int, count: int, mode: str) -> tuple[int, list[str]]:
    """Replays so many dead messages, by filters that overlap and by ids, while two engines serve
    their lanes and others are sent; answers how many were replayed, and whatever had not exactly
    one more chain."""
    replayed = 0
    broken: list[str] = []

    async def story(world: World) -> None:
        nonlocal replayed
        dead = await _die(world, count)
        before = Counter(receipt.message for receipt in world.ledger.book)
        for server in SERVERS:
            world.behaviours[server] = receivers.flaky(1.0, seconds=world.loop.rng.uniform(0, 0.1))
        busy = asyncio.get_running_loop().create_task(_send(world, count // 5))
        replayed = sum(await _replay_all(world, dead, mode))
        states = await world.settled(within_s=4 * 3600)
        await busy
        tries = Counter(receipt.message for receipt in world.ledger.book) - before
        broken.extend(
            f"{n}: {tries[n]} tries in mode {mode}" for n in dead if tries[n] != TRIES[mode]
        )
        broken.extend(f"{n} is {states[n]}" for n in dead if states[n] is not State.dead)
        page = await world.client.dead.list(limit=1)
        broken.extend([] if page.messages[0].reason == "exhausted" else [str(page.messages)])

    simulate(seed, story)
    return replayed, broken


async def _die(world: World, count: int) -> list[int]:
    """So many dead messages, rejected at once, on three lanes; some of them ordered."""
    for server in SERVERS:
        world.behaviours[server] = receivers.rejecting(1.0)
    world.start("one")
    world.start("two")
    dead = [await _send_one(world) for _ in range(count)]
    await world.settled(within_s=3600)
    return dead


async def _send_one(world: World) -> int:
    rng = world.loop.rng
    queue = f"sim://{rng.choice(SERVERS)}/{rng.choice('abc')}"
    return await world.send(queue, order_key=rng.choice([None, None, f"key {rng.randrange(100)}"]))


async def _send(world: World, count: int) -> None:
    for _ in range(count):
        await _send_one(world)
        await asyncio.sleep(0.05)


async def _replay_all(world: World, dead: list[int], mode: str) -> list[int]:
    """By queue, by count, by error and by ids, all at once: whoever comes first has them."""
    replay = world.client.dead.replay
    few = [to_text(number) for number in dead[: len(dead) // 10]]

    async def by_ids() -> int:
        try:
            return await replay(ids=few, mode=mode)
        except BadInput:
            return 0  # another one had some of them first: all or nothing

    asks = [replay(queue=f"sim://{server}/a", reason="rejected", mode=mode) for server in SERVERS]
    asks += [by_ids(), replay(count=len(dead) // 3, reason="rejected", mode=mode)]
    asks += [replay(error="410", reason="rejected", mode=mode) for _ in range(2)]
    return await asyncio.gather(*asks)
