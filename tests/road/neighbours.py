"""How late one tenant's messages start beside another tenant with a backlog, or with broken servers: in
simulated time, and really."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from math import exp, log
from pathlib import Path
from statistics import fmean, quantiles

from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send, draft
from postroad.model.entities import Message, Queue, QueueSpec
from postroad.model.ids import IdSequence, to_number
from postroad.model.limits import Limits
from postroad.model.outcome import Outcome, unreachable
from tests.rig.receivers import Behaviour, Receivers, good
from tests.rig.world import World, simulate

BACKLOG, BROKEN = "backlog", "broken"
QUEUES = 100
"""Over which a backlog is spread, each on a server of its own."""
SLOW_S, HANGS_S = 2.0, 10.0
"""What a slow server takes for an answer, and a connect to a broken one to fail."""
EVERY_S = 0.02
WARM_S = 2.0
BATCH = 1_000
NODE = 901


class Crowd(dict[str, Behaviour]):
    """The crowd's servers are slow, or cannot be reached; the others are quick."""

    def get(self, key: str, _default: object = None) -> Behaviour | None:  # type: ignore[override]
        """How a server behaves."""
        if "broken" in key:
            return lambda _now_ms, _draw: (HANGS_S, False, unreachable("connect timed out"))
        return good(SLOW_S) if "slow" in key else good(0.001)


async def crowd(road: Postroad, trouble: str, size: int) -> None:
    """Give a tenant so many waiting messages, or so many broken servers with messages."""
    if trouble == BROKEN:
        names = [f"sim://broken{n}/a" for n in range(size)]
    else:
        names = [f"sim://slow{n % QUEUES}/a" for n in range(size)]
    local, ids = Receivers(lambda: 0, lambda: 0.0), IdSequence(NODE)
    known = sorted(set(names))
    specs = [QueueSpec("crowd", n, local.address(n, "crowd"), 1, local.policy(n)) for n in known]
    queues = dict(zip(known, await road.store.open_queues(specs), strict=True))
    now_ms = road.store.clock.now_ms()
    for first in range(0, len(names), BATCH):
        part = [queues[name] for name in names[first : first + BATCH]]
        drafts = [draft(Send(q.name, 1), q, ids.next(now_ms), now_ms, 1 << 20) for q in part]
        _ = await road.store.accept(drafts)  # they have no keys


async def send_beside(
    road: Postroad, count: int, clock_ms: Callable[[], float]
) -> dict[int, float]:
    """Send so many messages of the other tenant, evenly; answers when each was stored."""
    sent: dict[int, float] = {}
    for number in range(count):
        await asyncio.sleep(EVERY_S)
        receipt = await road.send(f"sim://quick{number % 20}/a", number, tenant="other")
        sent[to_number(receipt.id)] = clock_ms()
    return sent


def exact_ms() -> float:
    """The time, finer than the milliseconds that a road counts in."""
    return time.monotonic() * 1000


def p99_ms(late_ms: list[float]) -> float:
    return quantiles(late_ms, n=100)[98]


def simulated_p99_ms(
    trouble: str, size: int, count: int = 100, most_s: float = 60.0, limits: Limits | None = None
) -> float:
    """In simulated time, where only waiting for others counts; one that has not started in so long
    counts as so late."""
    late: list[float] = []

    async def story(world: World) -> None:
        world.behaviours = Crowd()
        if trouble:
            await crowd(world.client, trouble, size)
        world.start("one")
        await asyncio.sleep(WARM_S)
        sent = await send_beside(world.client, count, world.clock.now_ms)
        until_s = world.loop.time() + most_s
        started: dict[int, int] = {}
        while len(started) < count and world.loop.time() < until_s:
            await asyncio.sleep(0.5)
            started = {
                one.message: one.started_ms for one in world.ledger.book if one.message in sent
            }
        now_ms = world.clock.now_ms()
        late.extend(started.get(number, now_ms) - at_ms for number, at_ms in sent.items())
        world.crash("one")  # the crowd would be tried for days

    simulate(1, story, limits)
    return p99_ms(late)


class Starts(Receivers):
    """Notes when the tries of the other tenant start."""

    def __init__(self) -> None:
        super().__init__(lambda: 0, lambda: 0.0, Crowd())
        self.started: dict[int, float] = {}

    async def handle(self, server: str, queue: Queue, message: Message) -> Outcome:
        """One try."""
        if server.startswith("quick"):
            self.started.setdefault(message.id, exact_ms())
        return await super().handle(server, queue, message)


async def _real_p99_ms(dsn: str, trouble: str, size: int, count: int) -> float:
    starts = Starts()
    road = Postroad(dsn, settings=Settings(log_level="error"), transports=[starts])
    async with road:
        if trouble:
            await crowd(road, trouble, size)
        running = asyncio.ensure_future(road.run())
        await asyncio.sleep(WARM_S)
        sent = await send_beside(road, count, exact_ms)
        while sent.keys() - starts.started.keys():
            await asyncio.sleep(0.05)
        # What hangs is not waited for.
        running.cancel()
        _ = await asyncio.gather(running, return_exceptions=True)
    return p99_ms([max(0, starts.started[number] - at_ms) for number, at_ms in sent.items()])


def real_times(
    trouble: str, size: int, pairs: int, make: Callable[[Path], str], count: int = 250
) -> tuple[float, float]:
    """How many times later the p99 is beside the crowd than without it, and calm against calm: the
    geometric means over pairs of neighbouring parts, each on a new road."""
    troubled, noise = [], []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as name:
            parts = [
                asyncio.run(_real_p99_ms(make(Path(name) / str(n)), each, size, count))
                for n, each in enumerate(("", trouble, ""))
            ]
        first, beside, last = (max(1.0, part) for part in parts)
        troubled.append(log(beside / ((first + last) / 2)))
        noise.append(log(last / first))
    return exp(fmean(troubled)), exp(fmean(noise))
