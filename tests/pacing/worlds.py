"""A limit in simulated time: processes with clocks of their own that stall, crash and come back, a
store that answers late, and three ways to keep to the limit, of which one does."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from postroad.model.entities import LaneKey, Policy, QueueSpec
from postroad.model.pace import Ask, Limit, Reserved, read_limit
from postroad.observe.log import make_log
from postroad.pacing.pacer import Pacer
from postroad.ports.clock import LoopClock
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from postroad.testing.simloop import Node, SimLoop
from tests.pacing.windows import breaches

DOOR_S = 0.02
"""The way to the provider takes up to so much longer for one start than for another."""
LOG = make_log("critical")


class Scenario(Struct, frozen=True):
    """What happens."""

    seed: int
    rate: str = "50/s"
    processes: int = 4
    seconds: float = 12.0
    answer_s: float = 0.02
    """How long a way to the store takes at the most, but for one in twenty, which is 20 times
    slower."""
    stalls: bool = True
    crashes: bool = True


class Skewed(LoopClock):
    """A machine's own clocks: its wall clock is up to 30 s off, its steady one began anywhere."""

    def __init__(self, skew_s: float) -> None:
        super().__init__()
        self._skew_s = skew_s

    def now_ms(self) -> int:
        return super().now_ms() + round(self._skew_s * 1000)

    def steady_s(self) -> float:
        return super().steady_s() + 1000 * self._skew_s


class FarStore(SqliteStore):
    """The real store, at the end of a line that is slow now and then."""

    def __init__(self, folder: Path, loop: SimLoop, scenario: Scenario) -> None:
        super().__init__(folder / "road.db", LoopClock(), drive=InlineDrive)
        self._rng = loop.rng
        self._answer_s = scenario.answer_s

    async def way(self) -> None:
        """There, or back."""
        rng = self._rng
        slow = 20 if rng.random() < 0.05 else 1
        await asyncio.sleep(rng.uniform(0, self._answer_s) * slow)

    async def reserve(self, asks: Sequence[Ask]) -> Reserved:
        """There and back."""
        await self.way()
        reserved = await super().reserve(asks)
        await self.way()
        return reserved


class Limiter(Protocol):
    """One way to keep to a limit."""

    def __call__(
        self, world: "World", clock: LoopClock, start: Callable[[], None]
    ) -> Awaitable[None]:
        """A process's life: start as often as is allowed."""


class World:
    """What a scenario runs in."""

    def __init__(self, loop: SimLoop, scenario: Scenario, store: FarStore, ledger: int) -> None:
        self.loop = loop
        self.limit: Limit = read_limit(scenario.rate)
        self.store = store
        self.ledger = ledger
        self.counts: dict[int, int] = {}
        """A fixed window's, by its number."""
        self.tokens = float(self.limit.windows[0].most)
        self.filled_s = 0.0
        self.starts_us: list[tuple[float, int]] = []
        self.lives: list[asyncio.Task[None]] = []
        self.busy = True
        """Whether there is anything to start."""

    def start(self) -> None:
        """Something leaves; it comes to the door after a way of its own."""
        at_s = self.loop.time() + self.loop.rng.uniform(0, DOOR_S)
        self.starts_us.append((at_s * 1e6, 1))


async def by_ledger(world: World, clock: LoopClock, start: Callable[[], None]) -> None:
    """Ours."""
    pace, woken = Pacer(world.store, clock, LOG), asyncio.Event()
    asking = asyncio.get_running_loop().create_task(pace.run())
    line = pace.reserver((world.ledger,), f"{clock.steady_s()}", woken.set)
    while True:
        if not world.busy:
            await clock.sleep(0.05)
        elif not line.ready(lambda: 50):
            woken.clear()
            await woken.wait()
        elif await pace.on_time(line.take()):
            start()
        if asking.done():
            asking.result()


async def by_tokens(world: World, clock: LoopClock, start: Callable[[], None]) -> None:
    """A token bucket in the store, on the store's clock."""
    window = world.limit.windows[0]
    rate = window.most / (window.length_us / 1e6)
    while True:
        await world.store.way()
        now_s = world.loop.time()
        world.tokens = min(float(window.most), world.tokens + (now_s - world.filled_s) * rate)
        world.filled_s = now_s
        given = int(min(world.tokens, 12)) if world.busy else 0
        world.tokens -= given
        await world.store.way()
        for _ in range(given):
            start()
        await clock.sleep(0.05)


async def by_fixed_window(world: World, clock: LoopClock, start: Callable[[], None]) -> None:
    """A counter for each window of the store's clock."""
    window = world.limit.windows[0]
    while True:
        await world.store.way()
        number = int(world.loop.time() * 1e6) // window.length_us
        taken = world.counts.get(number, 0)
        given = min(window.most - taken, 12) if world.busy else 0
        world.counts[number] = taken + given
        await world.store.way()
        for _ in range(given):
            start()
        await clock.sleep(0.05)


def run(scenario: Scenario, limiter: Limiter) -> tuple[list[str], int]:
    """The breaches that the provider saw, and how many starts."""
    with (
        tempfile.TemporaryDirectory(
            dir="/dev/shm" if Path("/dev/shm").is_dir() else None
        ) as folder,
        SimLoop(scenario.seed) as loop,
    ):
        return loop.run(_live(loop, Path(folder), scenario, limiter), strict=False)


async def _live(
    loop: SimLoop, folder: Path, scenario: Scenario, limiter: Limiter
) -> tuple[list[str], int]:
    store = FarStore(folder, loop, scenario)
    server = loop.node("store")
    await server.spawn(store.open())
    spec = QueueSpec("default", "x", LaneKey("sim", "x"), 1, Policy())
    (queue,) = await store.open_queues([spec])
    await store.limit_queue(queue.id, read_limit(scenario.rate))
    found = await store.find_queue("default", "x")
    ledger = found.ledgers[0] if found else 0
    world = World(loop, scenario, store, ledger)
    nodes = [_born(world, limiter) for _ in range(scenario.processes)]
    end_s = loop.time() + scenario.seconds
    while loop.time() < end_s:
        await asyncio.sleep(loop.rng.uniform(0.1, 1.5))
        place = loop.rng.randrange(len(nodes))
        if scenario.crashes and loop.rng.random() < 0.4:
            nodes[place].crash()
            nodes[place] = _born(world, limiter)
        elif scenario.stalls and loop.rng.random() < 0.5:
            nodes[place].pause(loop.rng.uniform(0.01, 1.5))
        world.busy = not scenario.stalls or loop.rng.random() < 0.8
    for node in nodes:
        node.crash()
    await server.spawn(store.close())
    return breaches(world.limit, world.starts_us), len(world.starts_us)


def _born(world: World, limiter: Limiter) -> Node:
    node = world.loop.node("process")
    clock = Skewed(world.loop.rng.uniform(-30, 30))

    async def life() -> None:
        await limiter(world, clock, world.start)

    world.lives.append(node.spawn(life()))
    return node
