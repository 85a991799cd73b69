"""The blocking face of a road, for Django, scripts and threads: the same verbs without `await`.

    from postroad.sync import Postroad

    with Postroad("sqlite:///road.db") as road:
        road.send("resize-image", {"id": 7})

The road itself lives in one background thread; any thread may call it.
"""

import asyncio
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self, TypeVar, Unpack

import apsw

from postroad import app
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.errors import BadInput, NotOpen, PostroadError, Reject, RetryLater
from postroad.model.held_by_handler import HoldKey, HoldQueue
from postroad.model.ladder import Exponential, Steps
from postroad.ports.transport import Transport
from postroad.transports.call_plan import provided
from postroad.transports.gathering import Some
from postroad.transports.job import Message
from postroad.verbs.batch_planning import Batch, chain
from postroad.verbs.batches import BatchVerbs
from postroad.verbs.blocking import (
    BlockingAttachments,
    BlockingAudit,
    BlockingBatches,
    BlockingCampaigns,
    BlockingCredentials,
    BlockingDead,
    BlockingEndpoints,
    BlockingEvents,
    BlockingEventTypes,
    BlockingInspection,
    BlockingJobs,
    BlockingLanes,
    BlockingLimits,
    BlockingMailboxes,
    BlockingMessages,
    BlockingPortal,
    BlockingPrivacy,
    BlockingReplays,
    BlockingRollups,
    BlockingRules,
    BlockingSessions,
    BlockingSuppressions,
    BlockingTenants,
    BlockingTimetables,
    BlockingTokens,
    BlockingWebhooks,
    BlockingWorkers,
    blocking,
    receipted,
)
from postroad.verbs.blocking_calls import BlockingHandlerCall, BlockingRegistering
from postroad.verbs.events import EventVerbs
from postroad.verbs.grouping import VerbGroup
from postroad.verbs.handler_options import HandlerOptions
from postroad.verbs.parts import Parts
from postroad.verbs.receipts import Receipt
from postroad.verbs.registering import G

__all__ = [
    "Batch",
    "Exponential",
    "HoldKey",
    "HoldQueue",
    "Message",
    "Postroad",
    "PostroadError",
    "Receipt",
    "Reject",
    "RetryLater",
    "Send",
    "Some",
    "Steps",
    "chain",
    "provided",
]

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])


class Face(ABC):
    """All verbs of a road, for a caller that knows how to wait for one."""

    def __init__(self, road: app.Postroad) -> None:
        self._target = road
        road.registry.home.face, self.provide = self, road.provide
        self.around = road.around
        for name, group in vars(Face).items():
            if isinstance(group, VerbGroup):
                setattr(self, name, group.kind(getattr(road, name), self._wait))

    dead = VerbGroup(BlockingDead)
    messages = VerbGroup(BlockingMessages)
    lanes = VerbGroup(BlockingLanes)
    inspect = VerbGroup(BlockingInspection)
    rollups = VerbGroup(BlockingRollups)
    workers = VerbGroup(BlockingWorkers)
    webhooks = VerbGroup(BlockingWebhooks)
    campaigns = VerbGroup(BlockingCampaigns)
    credentials = VerbGroup(BlockingCredentials)
    suppressions = VerbGroup(BlockingSuppressions)
    mailboxes = VerbGroup(BlockingMailboxes)
    limits = VerbGroup(BlockingLimits)
    rules = VerbGroup(BlockingRules)
    tokens = VerbGroup(BlockingTokens)
    sessions = VerbGroup(BlockingSessions)
    portal = VerbGroup(BlockingPortal)
    tenants = VerbGroup(BlockingTenants)
    audit = VerbGroup(BlockingAudit)
    privacy = VerbGroup(BlockingPrivacy)
    endpoints = VerbGroup(BlockingEndpoints)
    event_types = VerbGroup(BlockingEventTypes)
    events = VerbGroup(BlockingEvents)
    replays = VerbGroup(BlockingReplays)
    jobs = VerbGroup(BlockingJobs)
    batches = VerbGroup(BlockingBatches)
    timetables = VerbGroup(BlockingTimetables)
    attachments = VerbGroup(BlockingAttachments)

    send, send_many = receipted(app.Postroad.send), receipted(app.Postroad.send_many)
    batch, chain = blocking(BatchVerbs.batch), blocking(BatchVerbs.chain)
    publish, publish_in = blocking(EventVerbs.publish), blocking(EventVerbs.publish_in)
    send_each, send_in = receipted(app.Postroad.send_each), receipted(app.Postroad.send_in)
    cancel, cancel_all = blocking(app.Postroad.cancel), blocking(app.Postroad.cancel_all)
    settle, limit = blocking(app.Postroad.settle), blocking(app.Postroad.limit)
    pause, resume = blocking(app.Postroad.pause), blocking(app.Postroad.resume)
    unblock, explain = blocking(app.Postroad.unblock), blocking(app.Postroad.explain)
    explain_queue = blocking(app.Postroad.explain_queue)
    explain_lane = blocking(app.Postroad.explain_lane)

    @property
    def postroad(self) -> app.Postroad:
        """The road itself, with its async face."""
        return self._target

    def handler(self, name: str, **options: Unpack[HandlerOptions]) -> BlockingRegistering:
        """Register a function, plain or async, as the recipient of a queue; the options are those
        of `postroad.Postroad.handler`."""
        return self._target.registry.handler(name, options, BlockingHandlerCall)

    def transform(self, name: str) -> Callable[[F], F]:
        """Register a function as a transformation of bodies, which endpoints are set to."""
        return self._target.transform(name)

    def every(
        self,
        cron: str,
        *,
        tz: str = "UTC",
        missed: str = "latest",
        name: str = "",
        **options: Unpack[HandlerOptions],
    ) -> Callable[[G], G]:
        """Call a function at the times of a cron line, once in the whole fleet."""
        return self._target.every(cron, tz=tz, missed=missed, name=name, **options)

    def connection(self) -> apsw.Connection:
        """On SQLite: open a connection for your own tables in the road's file and for `send_in`."""

        async def give() -> apsw.Connection:
            return self._target.connection()

        return self._wait(give())

    @abstractmethod
    def _wait(self, verb: Coroutine[Any, Any, R]) -> R:
        """Run a verb to its end, and return its answer."""


class Postroad(Face):
    """A road that blocks: register handlers, send messages, run. Open it after a fork."""

    def __init__(
        self,
        dsn: str | None = None,
        *,
        token: str = "",
        settings: Settings | None = None,
        transports: Sequence[Transport] = (),
        parts: Parts | None = None,
    ) -> None:
        road = app.Postroad(dsn, token=token, settings=settings, transports=transports, parts=parts)
        super().__init__(road)
        self._opening = threading.Lock()
        self._starting = threading.RLock()  # a signal's handler may send, too
        """Held while a verb is given to the loop: one that is ending would never run it."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runs: set[Future[None]] = set()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Open the road for good, as a web server does; `with road:` opens and closes it."""
        with self._opening:
            if self._loop is not None:
                raise BadInput("this road is open already: open it once, any thread may use it")
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="postroad", daemon=True)
            thread.start()
            self._loop, self._thread = loop, thread
            try:
                _ = self._wait(self._target.__aenter__())  # it answers itself
            except BaseException:
                self._end()
                raise

    def close(self) -> None:
        """Stop running, and close the store."""
        with self._opening:
            if self._loop is None:
                return
            try:
                if self._runs:
                    self.stop()
                    wait(self._runs)
                self._wait(self._target.__aexit__(None, None, None))
            finally:
                self._end()

    def _end(self) -> None:
        with self._starting:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        # Threads that still wait for a verb get an error.
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def run(self, *, until_idle: bool = False) -> None:
        """Deliver until stopped, or, with `until_idle`, until nothing is due any more. In the main
        thread SIGTERM and SIGINT stop it in good order."""
        with _signals(self.stop):
            running = self._start(self._target.run(until_idle=until_idle))
            self._runs.add(running)
            running.add_done_callback(self._runs.discard)
            running.result()

    def stop(self) -> None:
        """End `run`. Tries in flight are finished, or given back without counting as one."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._target.stop)

    def _wait(self, verb: Coroutine[Any, Any, R]) -> R:
        try:
            return self._start(verb).result()
        except CancelledError:
            raise NotOpen("the road was closed while this waited for it") from None

    def _start(self, verb: Coroutine[Any, Any, R]) -> "Future[R]":
        if threading.current_thread() is self._thread:
            verb.close()
            raise BadInput(
                "this would wait for itself: an async handler runs in the road's own loop; make it "
                "a plain function, or use postroad.Postroad"
            )
        with self._starting:
            if self._loop is not None:
                return asyncio.run_coroutine_threadsafe(verb, self._loop)
        verb.close()
        raise NotOpen("the road is not open: use it inside `with road:`, or open() it")


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    # They were cancelled: how they ended is no news.
    _ = await asyncio.gather(*others, return_exceptions=True)


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT end the run, where this is the main thread of a process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def heard(_number: int, _frame: FrameType | None) -> None:
        stop()

    old = {number: signal.signal(number, heard) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
