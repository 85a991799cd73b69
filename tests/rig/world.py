"""A simulated world: engines on one road, scripted receivers, faults drawn from a seed."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from postroad.app import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.durations import seconds_of
from postroad.model.errors import StoreError
from postroad.model.ids import to_number
from postroad.model.limits import Limits
from postroad.model.states import NEVER, State
from postroad.observe.log import make_log
from postroad.ports.clock import LoopClock
from postroad.testing.simloop import Node, SimLoop
from postroad.verbs.parts import Parts
from tests.rig.ledger import LIVE, DeliveryLedger, SentMessage
from tests.rig.rates import Rates
from tests.rig.receivers import QUICK, Behaviour, ReceivedTry, Receivers
from tests.rig.watched import WatchedStore

LIFE_S: Final = 60 * 86_400.0
"""A story that takes longer is stuck."""


class Member(Struct):
    """One engine of the world."""

    name: str
    node: Node
    road: Postroad
    receivers: Receivers
    task: "asyncio.Task[None]"


class World:
    """A simulated fleet on one seed: the loop, the store on a real file, engines, the ledger."""

    def __init__(self, loop: SimLoop, folder: Path, limits: Limits | None = None) -> None:
        self.loop = loop
        self.clock = LoopClock()
        self.ledger = DeliveryLedger()
        self.rates = Rates()
        self.store = WatchedStore(folder / "road.db", self.clock, self.ledger)
        self.behaviours: dict[str, Behaviour] = {}
        self.members: dict[str, Member] = {}
        self.equip: Callable[[str, Postroad], None] = lambda _name, _road: None
        """Called with each new engine's name and road before it starts, to register handlers."""
        self.log = make_log("critical")
        """The log of every engine that is started from now on."""
        self._settings = Settings(limits=limits or Limits())
        self._server = loop.node("store")
        self._client: Postroad | None = None
        self._bodies = 0

    async def open(self) -> None:
        """Open the store, and a road to send from."""
        await self._server.spawn(self.store.open())
        self._client = self._road(Receivers(self.clock.now_ms, self.loop.rng.random))
        _ = await self._client.__aenter__()  # it answers itself

    async def close(self) -> None:
        """Stop all engines, and close the store."""
        for member in list(self.members.values()):
            await self.stop(member.name)
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
        await self._server.spawn(self.store.close())

    @property
    def client(self) -> Postroad:
        """The road that messages are sent from."""
        if self._client is None:
            raise RuntimeError("the world is not open")
        return self._client

    def _road(self, receivers: Receivers) -> Postroad:
        parts = Parts(store=self.store, chance=self.loop.rng, log=self.log)
        return Postroad(settings=self._settings, transports=[receivers], parts=parts)

    def start(self, name: str) -> Member:
        """Start a new engine process."""
        receivers = Receivers(self.clock.now_ms, self.loop.rng.random, self.behaviours)
        road = self._road(receivers)

        def on_start(server: str, number: int) -> None:
            now_ms, sent = self.clock.now_ms(), self.ledger.sent.get(number)
            self.ledger.started(f"{server}/0", road.owner, number, now_ms)
            self.rates.started((server, sent.queue) if sent else (server,), now_ms)
            self.loop.note("start", server, number)

        receivers.on_start = on_start
        receivers.on_receipt = self._receipt
        self.equip(name, road)
        node = self.loop.node(name)
        member = Member(name, node, road, receivers, node.spawn(_live(road)))
        self.members[name] = member
        return member

    def _receipt(self, receipt: ReceivedTry) -> None:
        self.ledger.book.append(receipt)
        self.loop.note("receipt", receipt.message, receipt.kind, receipt.level)

    def holder(self, server: str) -> str:
        """The engine that owns a server's lane."""
        owner = self.ledger.holder(f"{server}/0")
        return next(name for name, member in self.members.items() if member.road.owner == owner)

    def poison(self, member: Member, number: int) -> None:
        """Crash the engine when it starts this message."""
        told = member.receivers.on_start

        def on_start(server: str, started: int) -> None:
            told(server, started)
            if started == number:
                self.crash(member.name)

        member.receivers.on_start = on_start

    def crash(self, name: str) -> None:
        """Crash a process."""
        member = self.members.pop(name)
        member.node.crash()
        self.ledger.faulty(member.road.owner)
        self.loop.note("crash", name)

    def pause(self, name: str, seconds: float) -> None:
        """Suspend a process for a while."""
        member = self.members[name]
        member.node.pause(seconds)
        self.ledger.faulty(member.road.owner)
        self.loop.note("pause", name, seconds)

    async def stop(self, name: str) -> None:
        """Stop a process in good order."""
        member = self.members.pop(name)
        member.road.stop()
        await member.task

    async def send(self, queue: str, **options: object) -> int:
        """Send one message with a body of its own, and enter its receipt in the ledger."""
        self._bodies += 1
        body = f'"{self._bodies}"'.encode()
        self.ledger.asked.add(body)
        now_ms = self.clock.now_ms()
        send = Send(queue, str(self._bodies), **options)  # type: ignore[arg-type]
        (receipt,) = await self.client.send_many([send])
        number = to_number(receipt.id)
        self.ledger.accepted(
            SentMessage(
                number=number,
                queue=queue,
                body=body,
                due_ms=now_ms + int(seconds_of(send.delay) * 1000),
                order_key=send.order_key or "",
                expires_ms=int(send.expires_at.timestamp() * 1000) if send.expires_at else NEVER,
                once=queue.endswith("/once"),
            )
        )
        self.loop.note("accepted", number)
        return number

    async def settled(self, within_s: float) -> dict[int, State]:
        """Wait until every accepted message is final, or time is over; returns all states."""
        until_s = self.loop.time() + within_s
        while True:
            states = await self.store.states()
            live = [n for n in self.ledger.sent if states.get(n) in LIVE]
            if not live or self.loop.time() >= until_s:
                return states
            await asyncio.sleep(5)

    def check(self, states: dict[int, State]) -> None:
        """Check all promises of the ledger, and all rate limits."""
        for line in self.rates.exceeded():
            self.ledger.breach("pace", line)
        self.ledger.check(states, QUICK)


async def _live(road: Postroad) -> None:
    while True:
        try:
            async with road:
                await road.run()
        except StoreError:
            await asyncio.sleep(1)  # as a supervisor would start it again
        else:
            return


def simulate(
    seed: int, story: Callable[[World], Awaitable[None]], limits: Limits | None = None
) -> str:
    """Run a story in simulated time; returns a digest of what happened."""
    # A file like any other, but on memory where there is some: fsync is real work for nobody here.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, SimLoop(seed) as loop:

        async def whole() -> None:
            world = World(loop, Path(folder), limits)
            await world.open()
            await story(world)
            await world.close()

        loop.run(whole(), limit_s=LIFE_S)
        return loop.digest()
