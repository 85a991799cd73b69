"""The road as a program uses it. This file wires everything, and it alone knows all rooms."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, Unpack

import apsw
from msgspec import Struct
from msgspec.structs import replace
from structlog.typing import FilteringBoundLogger

from postroad.config import Settings
from postroad.engine.drafting import Send, draft
from postroad.engine.engine import Engine
from postroad.engine.intake import Intake
from postroad.model.errors import BadDsn, BadInput, Conflict, NotOpen, StoreError
from postroad.model.ids import IdSequence, to_text
from postroad.model.words import DEFAULT_TENANT, Accepted, Draft, Queue, QueueSpec
from postroad.observe.log import log_levels, make_log
from postroad.ports.clock import Chance, Clock, SystemClock, system_chance
from postroad.ports.joining import Joins
from postroad.ports.store import Store
from postroad.ports.ticks import Ticks
from postroad.ports.transport import Transport
from postroad.stores.postgres.store import PostgresStore
from postroad.stores.sqlite.store import SqliteStore
from postroad.transports.handler import HandlerTransport
from postroad.transports.threads import Calls, Threads
from postroad.verbs.control import Controls, LaneControls
from postroad.verbs.cron import Scheduler
from postroad.verbs.dead import Dead
from postroad.verbs.registering import Registry
from postroad.verbs.why import Why


class Receipt(Struct, frozen=True):
    """The message is stored. `duplicate`: it was stored before, under the same key."""

    id: str
    queue: str
    duplicate: bool = False


class SendOptions(TypedDict, total=False):
    """How a message is to be sent; the fields of Send."""

    key: str
    order_key: str
    deliver_at: datetime | None
    delay: float
    expires_at: datetime | None
    priority: int
    headers: dict[str, str] | None
    tenant: str


class Parts(Struct, frozen=True):
    """What a test may put in place of the real thing."""

    clock: Clock | None = None
    chance: Chance | None = None
    store: Store | None = None
    log: FilteringBoundLogger | None = None
    threads: Callable[[str, int], Calls] = Threads


def open_store(dsn: str, clock: Clock) -> Store:
    """The store that a DSN names."""
    if dsn.startswith("sqlite:///"):
        name = dsn.removeprefix("sqlite:///")
        if not name or name == ":memory:":
            raise BadDsn(f"{dsn!r}: name a file, as in sqlite:///road.db; a road outlives memory")
        return SqliteStore(Path(name), clock)
    if dsn.startswith(("postgresql://", "postgres://")):
        return PostgresStore(dsn, clock)
    raise BadDsn(f"{dsn!r} is not understood: use sqlite:///FILE or postgresql://…")


class Postroad:
    """A road: register handlers, send messages, run."""

    def __init__(
        self,
        dsn: str | None = None,
        *,
        settings: Settings | None = None,
        transports: Sequence[Transport] = (),
        parts: Parts | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.dsn = dsn or os.environ.get("POSTROAD_DSN") or self.settings.dsn
        parts = parts or Parts()
        self.log = parts.log or make_log(self.settings.log_level)
        self._chance = parts.chance or system_chance()
        self.store = parts.store or open_store(self.dsn, parts.clock or SystemClock())
        self._own_store = parts.store is None
        self._handlers = HandlerTransport(parts.threads)
        self.registry = Registry(self._handlers)
        self.handler, self.every = self.registry.handler, self.registry.every
        self._transports: dict[str, Transport] = {t.name: t for t in (self._handlers, *transports)}
        self._queues: dict[tuple[str, str], Queue] = {}
        self.owner = 0
        self._ids = IdSequence(0)
        self._intake: Intake | None = None
        self._stop_asked = False
        controls = Controls(self.store, self._sends)
        self.cancel, self.cancel_all = controls.cancel, controls.cancel_all
        self.pause, self.resume, self.unblock = controls.pause, controls.resume, controls.unblock
        self.lanes = LaneControls(self.store)
        self.dead = Dead(self.store)
        why = Why(self.store, self.store.clock, self._sends)
        self.explain = why.explain
        self.explain_queue, self.explain_lane = why.explain_queue, why.explain_lane
        self.engine: Engine | None = None

    async def __aenter__(self) -> Self:
        if self._own_store:
            await self.store.open()
        try:
            self.owner = await self.store.join()
            self._ids = IdSequence(self.owner)
            self._intake = Intake(self.store)
            for name in self._handlers.handlers:
                await self._open_queue(DEFAULT_TENANT, name)
        except BaseException:
            await self.__aexit__(None, None, None)  # the file must not stay ours
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._intake = None
        try:
            await self.store.leave(self.owner)
        except StoreError as gone:
            self.log.warning("left without a word", error=str(gone))
        finally:
            if self._own_store:
                await self.store.close()

    async def send(self, queue: str, body: object, **options: Unpack[SendOptions]) -> Receipt:
        """Hand over one message; the receipt comes when it is stored."""
        return (await self.send_many([Send(queue, body, **options)]))[0]

    async def send_many(self, sends: Sequence[Send | tuple[str, object]]) -> list[Receipt]:
        """Hand over many, stored in one transaction; none is when one of them is bad input. A
        key's Conflict is found in the store: the error then has the receipts of the others."""
        intake = self._intake
        if intake is None:
            raise NotOpen("the road is not open: use it inside `async with road:`")
        asked = [send if isinstance(send, Send) else Send(*send) for send in sends]
        queues = [await self._queue(send.tenant, send.queue) for send in asked]
        drafts = [self._draft(send, queue) for send, queue in zip(asked, queues, strict=True)]
        answers = await asyncio.gather(*[intake.put(one) for one in drafts])
        return _receipts(asked, answers)

    def connection(self) -> apsw.Connection:
        """On SQLite: a connection for your own tables in the road's file, and for `send_in`."""
        if not isinstance(self.store, SqliteStore):
            raise BadInput("only a SQLite road gives connections: use your own with send_in")
        return self.store.connection()

    async def send_in(
        self, connection: object, queue: str, body: object, **options: Unpack[SendOptions]
    ) -> Receipt:
        """Send inside your own open transaction: the message is stored if that commits."""
        if not isinstance(self.store, Joins):
            raise BadInput("this store cannot join a transaction: use send")
        send = Send(queue, body, **options)
        known = self._queues.get((send.tenant, queue))
        found = known or await self.store.find_queue(send.tenant, queue)
        if found is None:
            found = await self.store.queue_in(connection, self._spec(send.tenant, queue))
        answers = await self.store.send_in(connection, [self._draft(send, found)])
        return _receipts([send], answers)[0]

    def _draft(self, send: Send, queue: Queue) -> Draft:
        now_ms = self.store.clock.now_ms()
        number = self._ids.next(now_ms)
        return draft(send, queue, number, now_ms, self.settings.body_bytes_max)

    async def _draft_tick(self, queue: str, body: object) -> Draft:
        return self._draft(Send(queue, body), await self._queue(DEFAULT_TENANT, queue))

    async def _queue(self, tenant: str, name: str) -> Queue:
        known = self._queues.get((tenant, name))
        if known is not None:
            return known
        found = None
        if self._transport(name) is self._handlers and name not in self._handlers.handlers:
            found = await self.store.find_queue(tenant, name)
        if found is None:
            return await self._open_queue(tenant, name)
        self._queues[(tenant, name)] = found
        return found

    def _transport(self, name: str) -> Transport:
        scheme, mark, _ = name.partition("://")
        if not mark:
            return self._handlers
        for transport in self._transports.values():
            if transport.name == scheme:
                return transport
        raise BadInput(f"{name!r}: no transport for {scheme}:// is set up")

    def _spec(self, tenant: str, name: str) -> QueueSpec:
        transport = self._transport(name)
        lane = transport.address(name, tenant)
        return QueueSpec(tenant, name, lane, transport.shards, transport.policy(name))

    async def _open_queue(self, tenant: str, name: str) -> Queue:
        (queue,) = await self.store.open_queues([self._spec(tenant, name)])
        self._queues[(tenant, name)] = queue
        return queue

    async def run(self, *, until_idle: bool = False) -> None:
        """Deliver, until stopped; or until nothing is due any more."""
        if self._intake is None:
            raise NotOpen("the road is not open: use it inside `async with road:`")
        if not until_idle:
            log_levels(self.log, self.settings.limits.poll_intervals_s)
        engine = self.engine = Engine(
            self.store, self._transports, self.owner, self.settings.limits, self._chance, self.log
        )
        scheduler = self._scheduler()
        engine.start()
        if scheduler is not None:
            engine.spawn(scheduler.run(), "cron")
        if self._stop_asked:
            engine.ask_to_stop()
        try:
            with _signals(self.stop):
                if not until_idle:
                    await engine.until_stopped()
                    return
                if scheduler is not None:
                    await scheduler.caught_up.wait()
                await engine.until_idle()
        finally:
            await engine.stop()
            self.engine = None
            self._stop_asked = False

    def _scheduler(self) -> Scheduler | None:
        entries = [replace(entry) for entry in self.registry.timetables]
        if not entries:
            return None
        if not isinstance(self.store, Ticks):
            raise BadInput("this store keeps no timetables: road.every needs another one")
        return Scheduler(self.store, self.store.clock, entries, self._draft_tick, self.log)

    def _sends(self, number: int) -> bool:
        return self.engine is not None and self.engine.sends(number)

    def stop(self) -> None:
        """End `run`: in-flight work is finished, or given back without spending a try."""
        self._stop_asked = True
        if self.engine is not None:
            self.engine.ask_to_stop()


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT end the run, where this is the main thread of a process."""
    loop = asyncio.get_running_loop()
    heard: list[signal.Signals] = []
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
            heard.append(number)
    except (ValueError, RuntimeError):
        pass  # another thread, or simulated time: stop() alone ends the run
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)


def _receipts(sends: Sequence[Send], answers: Sequence[Accepted]) -> list[Receipt]:
    pairs = list(zip(sends, answers, strict=True))
    receipts = [Receipt(to_text(a.id), s.queue, a.duplicate) for s, a in pairs if not a.conflict]
    for send, answer in pairs:
        if answer.conflict:
            raise Conflict(
                f"key {send.key!r} was used for {send.queue!r} within a day with another body: "
                f"it is {to_text(answer.id)}; use a new key for a new message",
                [receipt.id for receipt in receipts],
            )
    return receipts
