"""The road as a program uses it. This file wires everything, and it alone knows all rooms."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, TypeVar, Unpack

from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from postroad.config import Settings
from postroad.engine.drafting import Send, draft
from postroad.engine.engine import Engine
from postroad.engine.intake import Intake
from postroad.model.errors import BadDsn, BadInput, Conflict, NotOpen, StoreError
from postroad.model.ids import IdSequence, to_text
from postroad.model.ladder import DEFAULT_LADDER, Ladder, with_retries
from postroad.model.words import DEFAULT_TENANT, Accepted, Policy, Queue, QueueSpec
from postroad.observe.log import log_levels, make_log
from postroad.ports.clock import Chance, Clock, SystemClock, system_chance
from postroad.ports.store import Store
from postroad.ports.transport import Transport
from postroad.stores.sqlite.store import SqliteStore
from postroad.transports.handler import Handle, Handler, HandlerTransport
from postroad.verbs.control import Controls, LaneControls

F = TypeVar("F", bound=Handle)


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


class HandlerOptions(TypedDict, total=False):
    """How a handler's messages are treated."""

    retries: int
    ladder: Ladder
    timeout: float
    concurrency: int
    ordered: bool
    on_exhausted: str
    at_most_once: bool


class Parts(Struct, frozen=True):
    """What a test may put in place of the real thing."""

    clock: Clock | None = None
    chance: Chance | None = None
    store: Store | None = None
    log: FilteringBoundLogger | None = None


def open_store(dsn: str, clock: Clock) -> Store:
    """The store that a DSN names."""
    if dsn.startswith("sqlite:///"):
        name = dsn.removeprefix("sqlite:///")
        if not name or name == ":memory:":
            raise BadDsn(f"{dsn!r}: name a file, as in sqlite:///road.db; a road outlives memory")
        return SqliteStore(Path(name), clock)
    raise BadDsn(f"{dsn!r} is not understood: use sqlite:///FILE")


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
        self._handlers = HandlerTransport()
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
        self.engine: Engine | None = None

    def handler(self, name: str, **options: Unpack[HandlerOptions]) -> Callable[[F], F]:
        """Register a function, plain or async, as the recipient of a queue."""
        policy, concurrency = _handler_policy(name, options)

        def register(function: F) -> F:
            if name in self._handlers.handlers:
                raise BadInput(f"a handler {name!r} is registered already: names are unique")
            self._handlers.handlers[name] = Handler(function, policy, concurrency)
            return function

        return register

    async def __aenter__(self) -> Self:
        if self._own_store:
            await self.store.open()
        self.owner = await self.store.join()
        self._ids = IdSequence(self.owner)
        self._intake = Intake(self.store)
        for name in self._handlers.handlers:
            await self._open_queue(DEFAULT_TENANT, name, self._handlers)
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
        """Hand over many; nothing is stored if one of them cannot be."""
        intake = self._intake
        if intake is None:
            raise NotOpen("the road is not open: use it inside `async with road:`")
        asked = [send if isinstance(send, Send) else Send(*send) for send in sends]
        now_ms = self.store.clock.now_ms()
        limit = self.settings.body_bytes_max
        queues = [await self._queue(send.tenant, send.queue) for send in asked]
        drafts = [
            draft(send, queue, self._ids.next(now_ms), now_ms, limit)
            for send, queue in zip(asked, queues, strict=True)
        ]
        answers = await asyncio.gather(*[intake.put(one) for one in drafts])
        return [_receipt(send, answer) for send, answer in zip(asked, answers, strict=True)]

    async def _queue(self, tenant: str, name: str) -> Queue:
        known = self._queues.get((tenant, name))
        if known is not None:
            return known
        transport = self._transport(name)
        found = None
        if transport is self._handlers and name not in self._handlers.handlers:
            found = await self.store.find_queue(tenant, name)
        if found is None:
            return await self._open_queue(tenant, name, transport)
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

    async def _open_queue(self, tenant: str, name: str, transport: Transport) -> Queue:
        lane = transport.address(name, tenant)
        spec = QueueSpec(tenant, name, lane, transport.shards, transport.policy(name))
        (queue,) = await self.store.open_queues([spec])
        self._queues[(tenant, name)] = queue
        return queue

    async def run(self, *, until_idle: bool = False) -> None:
        """Deliver, until stopped; or until nothing is due any more."""
        if self._intake is None:
            raise NotOpen("the road is not open: use it inside `async with road:`")
        log_levels(self.log, self.settings.limits.poll_intervals_s)
        engine = self.engine = Engine(
            self.store, self._transports, self.owner, self.settings.limits, self._chance, self.log
        )
        engine.start()
        if self._stop_asked:
            engine.ask_to_stop()
        try:
            if until_idle:
                await engine.until_idle()
            else:
                with _signals(self.stop):
                    await engine.until_stopped()
        finally:
            await engine.stop()
            self.engine = None
            self._stop_asked = False

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


def _handler_policy(name: str, options: HandlerOptions) -> tuple[Policy, int]:
    if not name or "://" in name or len(name) > 200:
        raise BadInput(f"{name!r} cannot be a handler's name: give a short word, not an address")
    ladder = options.get("ladder", DEFAULT_LADDER)
    if "retries" in options:
        ladder = with_retries(ladder, options["retries"])
    exhausted = options.get("on_exhausted", "hold")
    if exhausted not in ("hold", "skip"):
        raise BadInput(f"on_exhausted={exhausted!r}: 'hold' or 'skip'")
    timeout, concurrency = options.get("timeout", 30.0), options.get("concurrency", 0)
    if timeout <= 0 or concurrency < 0:
        raise BadInput(f"handler {name!r}: timeout must be positive, concurrency not negative")
    policy = Policy(
        ladder=ladder,
        ordered=options.get("ordered", False),
        skip_exhausted=exhausted == "skip",
        at_most_once=options.get("at_most_once", False),
        timeout_ms=int(timeout * 1000),
    )
    return policy, concurrency


def _receipt(send: Send, answer: Accepted) -> Receipt:
    if answer.conflict:
        raise Conflict(
            f"key {send.key!r} was used for {send.queue!r} within a day with another body: "
            f"it is {to_text(answer.id)}; use a new key for a new message"
        )
    return Receipt(to_text(answer.id), send.queue, answer.duplicate)
