"""The swarm: a world whose size, load and faults are all drawn from the seed."""

import asyncio
import random

from postroad.model.errors import StoreError
from postroad.model.states import State
from postroad.testing import receivers
from postroad.testing.receivers import Behaviour
from postroad.testing.world import World

SERVERS = ("ash", "birch", "cedar")


async def swarm(world: World) -> None:
    """Faults for a while, then none: safety is checked all the way, liveness at the end."""
    rng = world.loop.rng
    for server in SERVERS:
        world.behaviours[server] = _behaviour(rng, world.clock.now_ms())
    for n in range(1, rng.randint(1, 4) + 1):
        world.start(f"engine-{n}")
    sending = asyncio.get_running_loop().create_task(_send(world, rng.randint(20, 60)))
    if rng.random() < 0.5:
        share = rng.choice([0.01, 0.05])
        world.store.faults = lambda: _fault(rng, share)
    for _ in range(rng.randint(2, 8)):
        await asyncio.sleep(rng.uniform(1, 60))
        _disturb(world, rng)
    world.store.faults = str
    await sending
    for server in SERVERS:
        world.behaviours[server] = receivers.good()
    if not world.members:
        world.start("last")
    states = await world.settled(within_s=8 * 3600)
    _check_life(world, states)
    world.check(states)


def _check_life(world: World, states: dict[int, State]) -> None:
    stuck = [n for n in world.ledger.sent if states.get(n) is State.waiting]
    for number in stuck[:5]:
        world.ledger.breach("not forgotten", f"{number} is still waiting after eight hours")


def _behaviour(rng: random.Random, now_ms: int) -> Behaviour:
    back_ms = now_ms + rng.randint(1, 600) * 1000
    return rng.choice(
        [
            receivers.good(rng.choice([0.0, 0.01, 1.0])),
            receivers.flaky(rng.uniform(0.1, 0.9)),
            receivers.doubtful(rng.uniform(0.1, 0.5)),
            receivers.rejecting(0.1),
            receivers.away_until(back_ms),
            receivers.quota_until(back_ms, rng.choice([0, 30_000])),
        ]
    )


def _fault(rng: random.Random, share: float) -> str:
    draw = rng.random()
    if draw < share:
        return "before"
    return "after" if draw < 2 * share else ""


async def _send(world: World, count: int) -> None:
    rng = world.loop.rng
    keys = ["", "", "red", "blue"]
    for _ in range(count):
        queue = f"sim://{rng.choice(SERVERS)}/{rng.choice('abc')}"
        delay = rng.choice([0.0, 0.0, 0.0, rng.uniform(0, 120)])
        key = rng.choice(keys) if not delay else ""
        try:
            await world.send(queue, delay=delay, order_key=key, priority=rng.choice([0, 0, 5]))
        except StoreError:
            continue  # nobody knows whether it was stored: it is asked for, not accepted
        await asyncio.sleep(rng.choice([0.0, 0.0, 0.1, 5.0]))


def _disturb(world: World, rng: random.Random) -> None:
    names = sorted(world.members)
    draw = rng.random()
    if names and draw < 0.4:
        world.crash(rng.choice(names))
    elif names and draw < 0.7:
        world.pause(rng.choice(names), rng.uniform(5, 90))
    elif len(names) < 4:
        world.start(f"engine-{world.loop.time():.3f}")
