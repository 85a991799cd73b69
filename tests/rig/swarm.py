"""The swarm: a simulated fleet whose size, load, faults and users are drawn from the seed."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from postroad.model.control import CancelState
from postroad.model.errors import NotUncertain, StoreError, UnknownLane, UnknownQueue
from postroad.model.ids import to_text
from postroad.model.pace import read_limit
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.ledger import LIVE
from tests.rig.receivers import Behaviour
from tests.rig.world import World

SERVERS: Final = ("ash", "birch", "cedar")
RECIPIENTS: Final = ("a", "b", "c", "once")
LIMITS: Final = ("1/s", "3/s", "20/min", "2/s,40/h", "10/s,3/2s")
QUEUES: Final = tuple(f"sim://{server}/{name}" for server in SERVERS for name in RECIPIENTS)
LANES: Final = range(1, len(SERVERS) + 1)


async def swarm(world: World) -> None:
    """Faults for a while, then none. Safety is checked all the time, liveness at the end."""
    await _live(world, lambda _beside: None)


async def limited_swarm(world: World) -> None:
    """As the swarm, with rate limits that come and go, and uncertain messages that are settled."""
    await _limit_some(world)
    await _live(world, lambda tasks: _know_better(world, tasks))


async def _live(world: World, also: Callable[["BackgroundTasks"], None]) -> None:
    rng = world.loop.rng
    for server in SERVERS:
        world.behaviours[server] = _behaviour(rng, world.clock.now_ms())
    for n in range(1, rng.randint(1, 4) + 1):
        _ = world.start(f"engine-{n}")  # the world knows it
    tasks = BackgroundTasks()
    tasks.run(_send(world, rng.randint(20, 60)))
    if rng.random() < 0.5:
        share = rng.choice([0.01, 0.05])
        world.store.faults = lambda: _fault(rng, share)
    for _ in range(rng.randint(2, 8)):
        await asyncio.sleep(rng.uniform(1, 60))
        _disturb(world, rng, tasks)
        _meddle(world, rng, tasks)
        also(tasks)
    world.store.faults = str
    await tasks.ended()
    await _calm(world)
    states = await world.settled(within_s=8 * 3600)
    _check_life(world, states)
    world.check(states)


class BackgroundTasks:
    """Tasks that run beside the story. A store that is away does not fail them."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def run(self, what: Coroutine[object, object, object]) -> None:
        """Start a task."""

        async def patient() -> None:
            try:
                _ = await what  # only that it is over
            except (StoreError, UnknownLane, UnknownQueue, NotUncertain):
                return  # nobody knows whether it was done, or there was nothing to do it to

        self._tasks.append(asyncio.get_running_loop().create_task(patient()))

    async def ended(self) -> None:
        """Wait until all tasks have ended."""
        await asyncio.gather(*self._tasks)


async def _calm(world: World) -> None:
    """End all faults and pauses, make all recipients good, and have an engine run."""
    for server in SERVERS:
        world.behaviours[server] = receivers.good()
    for queue in QUEUES:
        if await world.store.find_queue("default", queue):
            await world.client.resume(queue)
    for lane in LANES:
        await world.store.pause_lane(lane, paused=False)
    if not world.members:
        _ = world.start("last")  # the world knows it


def _check_life(world: World, states: dict[int, State]) -> None:
    stuck = [n for n in world.ledger.sent if states.get(n) in LIVE]
    for number in stuck[:5]:
        world.ledger.breach("not forgotten", f"{number} is {states[number]} after eight hours")


def _behaviour(rng: random.Random, now_ms: int) -> Behaviour:
    back_ms = now_ms + rng.randint(1, 600) * 1000
    return rng.choice(
        [
            receivers.good(rng.choice([0.0, 0.01, 1.0, 15.0])),
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
    keys = [None, None, "red", "blue"]
    for _ in range(count):
        delay = rng.choice([0.0, 0.0, 0.0, rng.uniform(0, 120)])
        key = rng.choice(keys) if not delay else None
        expires_at = _deadline(world, delay) if rng.random() < 0.2 else None
        try:
            # The world knows it.
            _ = await world.send(
                rng.choice(QUEUES),
                delay=delay,
                order_key=key,
                priority=rng.choice([0, 0, 5]),
                expires_at=expires_at,
            )
        except StoreError:
            continue  # nobody knows whether it was stored: it is asked for, not accepted
        await asyncio.sleep(rng.choice([0.0, 0.0, 0.1, 5.0]))


def _deadline(world: World, delay: float) -> datetime:
    """Soon, or in a while; whole seconds after it is due."""
    now_s = world.clock.now_ms() / 1000
    return datetime.fromtimestamp(now_s + delay + world.loop.rng.choice([1, 5, 60, 600]), UTC)


# What happens to engines


def _disturb(world: World, rng: random.Random, tasks: BackgroundTasks) -> None:
    names = sorted(world.members)
    draw = rng.random()
    if names and draw < 0.3:
        world.crash(rng.choice(names))
    elif names and draw < 0.55:
        world.pause(rng.choice(names), rng.uniform(5, 90))
    elif names and draw < 0.7:
        tasks.run(world.stop(rng.choice(names)))
    elif len(names) < 4:
        _ = world.start(f"engine-{world.loop.time():.3f}")  # the world knows it


# What users do


def _meddle(world: World, rng: random.Random, tasks: BackgroundTasks) -> None:
    numbers = sorted(world.ledger.sent)
    for number in rng.sample(numbers, min(len(numbers), rng.randint(0, 3))):
        tasks.run(_cancel(world, number))
    if rng.random() < 0.3:
        queue = rng.choice(QUEUES)
        client = world.client
        tasks.run(
            _hold(rng.uniform(1, 60), lambda: client.pause(queue), lambda: client.resume(queue))
        )
    if rng.random() < 0.2:
        lane, lanes = rng.choice(LANES), world.client.lanes
        tasks.run(_hold(rng.uniform(1, 60), lambda: lanes.pause(lane), lambda: lanes.resume(lane)))


async def _hold(
    seconds: float, pause: Callable[[], Awaitable[None]], resume: Callable[[], Awaitable[None]]
) -> None:
    await pause()
    await asyncio.sleep(seconds)
    await resume()


async def _cancel(world: World, number: int) -> None:
    """Cancel through some process of the fleet; one that is sending it says that this is the last
    try."""
    roads = [world.client, *(member.road for _, member in sorted(world.members.items()))]
    road = world.loop.rng.choice(roads)
    answer = await road.cancel(to_text(number))
    if answer.state is CancelState.sending:
        world.ledger.last_try(number, road.owner)


# Limits, and doubts that are settled


async def _limit_some(world: World) -> None:
    rng = world.loop.rng
    for queue in QUEUES:
        _ = await world.send(queue)  # makes it, and its lane
    for name in (*SERVERS, *QUEUES):
        if rng.random() < 0.4:
            rate = rng.choice(LIMITS)
            await world.client.limit(_what(name), rate)
            world.rates.limited(name, read_limit(rate), world.clock.now_ms())


def _what(name: str) -> str | int:
    """A queue, or the number of a server's lane."""
    return LANES[SERVERS.index(name)] if name in SERVERS else name


def _know_better(world: World, tasks: BackgroundTasks) -> None:
    rng = world.loop.rng
    if rng.random() < 0.3:
        name = rng.choice((*SERVERS, *QUEUES))
        world.rates.lifted(name, world.clock.now_ms())
        tasks.run(world.client.limit(_what(name), rng.choice([None, *LIMITS])))
    if rng.random() < 0.7:
        tasks.run(_settle(world))


async def _settle(world: World) -> None:
    """Settle as `sent` if the recipient has it, as `unsent` if no process can still send it."""
    states = await world.store.states()
    handled = {receipt.message for receipt in world.ledger.book if receipt.handled}
    alive = {member.road.owner for member in world.members.values()}
    for number in sorted(n for n, state in states.items() if state is State.uncertain):
        if number in handled:
            await world.client.settle(to_text(number), "sent")
        elif not world.ledger.triers(number) & alive:
            if sent := world.ledger.sent.get(number):  # it goes by itself, outside its order group
                world.ledger.sent[number] = replace(sent, order_key="")
            await world.client.settle(to_text(number), "unsent")
