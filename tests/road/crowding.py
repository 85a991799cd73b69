"""One tenant's dead addresses beside another tenant's message: in simulated time, and really."""

import asyncio
import time

from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send, draft
from postroad.model.entities import Message, Queue, QueueSpec
from postroad.model.ids import IdSequence
from postroad.model.outcome import DELIVERED, Outcome, unreachable
from tests.rig import receivers
from tests.rig.receivers import Receivers
from tests.rig.world import World, simulate

CONNECT_S = 10.0
"""How long a connect to a dead address takes to fail."""
BATCH = 1_000
NODE = 900
"""Numbers of messages that no engine of the test gives out."""


async def fill(road: Postroad, tenant: str, lanes: int) -> None:
    """One message each to so many dead addresses."""
    ids, local = IdSequence(NODE), Receivers(lambda: 0, lambda: 0.0)
    for first in range(0, lanes, BATCH):
        names = [f"sim://dead{n}/a" for n in range(first, min(lanes, first + BATCH))]
        specs = [QueueSpec(tenant, n, local.address(n, tenant), 1, local.policy(n)) for n in names]
        queues = await road.store.open_queues(specs)
        now_ms = road.store.clock.now_ms()
        accepted = await road.store.accept(
            [draft(Send(q.name, 1), q, ids.next(now_ms), now_ms, 1 << 20) for q in queues]
        )
        assert all(one.stored for one in accepted)


def simulated_wait_s(lanes: int, most_s: float = 60.0) -> float:
    """How long the first message of a tenant waits for its start beside so many dead lanes of
    another, which fill an engine for some seconds already; at most so long."""
    waited: list[float] = []

    async def story(world: World) -> None:
        gone = (CONNECT_S, False, unreachable("connect timed out"))
        world.behaviours = Dead(gone)
        await fill(world.client, "crowd", lanes)
        world.start("one")
        await asyncio.sleep(CONNECT_S / 2)
        await world.client.send("sim://dead/new", 1, tenant="crowd")  # a claim that brings nothing
        await asyncio.sleep(0.0373)
        sent_s = world.loop.time()
        await world.client.send("sim://alive/a", 1, tenant="other")
        while not any(one.lane == "alive" for one in world.ledger.book):
            if world.loop.time() - sent_s > most_s:
                break
            await asyncio.sleep(0.05)
        waited.append(world.loop.time() - sent_s)
        world.crash("one")  # the dead ones would be tried for two days

    simulate(1, story)
    return waited[0]


class Dead(dict[str, receivers.Behaviour]):
    """Servers that cannot be reached, but for one."""

    def __init__(self, gone: tuple[float, bool, Outcome]) -> None:
        super().__init__()
        self._gone = gone

    def get(self, key: str, _default: object = None) -> receivers.Behaviour | None:  # type: ignore[override]
        """How a server behaves."""
        return None if "alive" in key else lambda _now_ms, _draw: self._gone


class Hanging(Receivers):
    """Tries at dead addresses end when they are told to."""

    def __init__(self) -> None:
        super().__init__(lambda: 0, lambda: 0.0)
        self.begun = 0
        self.alive_at_s = 0.0
        self.full = asyncio.Event()
        self.alive = asyncio.Event()
        self.end = asyncio.Event()

    async def handle(self, server: str, queue: Queue, message: Message) -> Outcome:  # noqa: ARG002
        """One try."""
        if server == "alive":
            self.alive_at_s = time.monotonic()
            self.alive.set()
            return DELIVERED
        self.begun += 1
        if self.begun == Settings().limits.in_flight_max:
            self.full.set()
        await self.end.wait()
        return unreachable("connect timed out")


def real_wait_s(dsn: str, lanes: int, most_s: float) -> float | None:
    """How long the first message of a tenant waits for its start while all tries at so many dead
    lanes of another hang; None when it did not start in so long."""
    return asyncio.run(_wait_s(dsn, lanes, most_s))


async def _wait_s(dsn: str, lanes: int, most_s: float) -> float | None:
    hanging = Hanging()
    road = Postroad(dsn, settings=Settings(log_level="error"), transports=[hanging])
    async with road:
        await fill(road, "crowd", lanes)
        running = asyncio.create_task(road.run())
        await asyncio.wait_for(hanging.full.wait(), 60)
        sent_s = time.monotonic()
        _ = await road.send("sim://alive/a", 1, tenant="other")
        try:
            await asyncio.wait_for(hanging.alive.wait(), most_s)
        except TimeoutError:
            return None
        finally:
            hanging.end.set()
            road.stop()
            await running
    return hanging.alive_at_s - sent_s
