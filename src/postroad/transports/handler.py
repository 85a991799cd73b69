"""Handlers: functions of this process as recipients."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from postroad.model.entities import HANDLER_SHARDS, LaneKey, Message, Policy, Queue
from postroad.model.errors import Reject, RetryLater, UnknownQueue
from postroad.model.foreign import error_text
from postroad.model.held_by_handler import HoldKey, HoldQueue
from postroad.model.ids import to_text
from postroad.model.outcome import (
    DELIVERED,
    STOPPED,
    Outcome,
    failed,
    key_held,
    later,
    queue_held,
    rejected,
)
from postroad.ports.cores import cores
from postroad.ports.transport import BEAT, Beat
from postroad.transports import job as received
from postroad.transports.failure_log import FailureLog
from postroad.transports.function_place import FunctionPlace
from postroad.transports.gathering import Gatherer
from postroad.transports.job import Around, Job, Reads, Reports, is_async, plain
from postroad.transports.job_result import with_failure, with_result
from postroad.transports.raised import as_outcome
from postroad.transports.threads import Calls, Threads

if TYPE_CHECKING:
    from postroad.transports.children import Children
    from postroad.transports.process_session import ProcessSession

__all__ = ["Handle", "Handler", "HandlerSession", "HandlerTransport", "Job", "is_async"]

PLAIN_CONCURRENCY: Final = 32
"""Threads of a plain function that names no `concurrency`."""

Handle = Callable[[Job], Awaitable[object]] | Callable[[Job], object]


class Handler(Struct, frozen=True):
    """A registered function and how it is to be called."""

    function: Handle
    policy: Policy
    concurrency: int
    reads: Reads = plain
    place: FunctionPlace | None = None
    """Where child processes find it, if they are to call it."""
    gatherer: Gatherer | None = None
    """Calls it with a list, if it takes many messages at once."""


class HandlerTransport:
    """Only processes that registered a handler claim its lanes; 16 shards let it scale out."""

    name = "handler"
    shards = HANDLER_SHARDS

    def __init__(
        self, failure_log: FailureLog, threads: Callable[[str, int], Calls] = Threads
    ) -> None:
        self.handlers: dict[str, Handler] = {}
        self.around: list[Around] = []
        self._failure_log = failure_log
        self._make_threads = threads
        self._threads: dict[str, Calls] = {}
        self.reports: Reports | None = None
        """Takes reports of how far jobs have come."""
        self._children: dict[str, Children] = {}

    def address(self, queue: str, tenant: str) -> LaneKey:
        """Return the lane, without its shard, of a handler's queue."""
        return LaneKey(self.name, queue, tenant=tenant)

    def policy(self, queue: str) -> Policy:
        """Return the policy that the handler was registered with."""
        if queue not in self.handlers:
            raise UnknownQueue(
                f"no handler {queue!r} is registered here, and this road has none of that name "
                f"yet: register it with @road.handler({queue!r}), or start its worker once"
            )
        return self.handlers[queue].policy

    def pools(self) -> list[str]:
        """Each handler is a pool of its own."""
        return [f"handler:{name}" for name in self.handlers]

    def concurrency(self, pool: str) -> int:
        """How many calls of one handler may run at once in this process. For each child process
        one more waits in line, which it gets as soon as it has answered."""
        handler = self.handlers[pool.removeprefix("handler:")]
        if handler.place is not None:
            return 2 * (handler.concurrency or cores())
        if handler.gatherer is not None:  # its calls are counted, and each has so many messages
            return handler.concurrency * handler.gatherer.most
        return handler.concurrency or (0 if is_async(handler.function) else PLAIN_CONCURRENCY)

    async def open(self, lane: LaneKey) -> "HandlerSession | ProcessSession":
        """Handlers need no connection; plain ones share their threads, or their child processes,
        over all their lanes."""
        handler = self.handlers[lane.server]
        if handler.place is not None and self._make_threads is Threads:  # else in simulated time
            return self._in_children(lane.server, handler, handler.place)
        threads = None
        if not is_async(handler.function):
            most = self.concurrency(lane.pool) or PLAIN_CONCURRENCY
            threads = self._threads.setdefault(lane.server, self._make_threads(lane.server, most))
        if handler.gatherer is not None:
            handler.gatherer.open()
        made = (lane.server, handler, threads, self._failure_log)
        session = HandlerSession(*made, around=self.around)
        session.reports = self.reports
        return session

    def _in_children(self, name: str, handler: Handler, place: FunctionPlace) -> "ProcessSession":
        from postroad.transports.children import Children  # most roads need none
        from postroad.transports.process_session import ProcessSession

        children = self._children.get(name)
        if children is None:
            most = handler.concurrency or cores()
            children = self._children[name] = Children(name, place, handler.policy, most)
        session = ProcessSession(name, children, handler.policy, self._failure_log)
        session.reports, session.around, session.reads = self.reports, self.around, handler.reads
        return session

    async def close(self) -> None:
        """End the child processes."""
        children, self._children = self._children, {}
        for each in children.values():
            await each.close()


class Failures(Protocol):
    """Takes what handlers do wrong."""

    def raised(self, queue: str, message: Message, error: Exception) -> None:
        """A handler raised."""

    def cut(self, queue: str, message: Message, error: str) -> None:
        """Log a handler that was cut at its timeout."""

    def shown(self, queue: str, message: Message, outcome: Outcome) -> Outcome:
        """Return the outcome of a try, without the fields of its body that are not shown."""


class HandlerSession:
    """Calls one handler."""

    def __init__(
        self,
        name: str,
        handler: Handler,
        threads: Calls | None,
        failure_log: Failures,
        beats: Callable[[Beat], None] | None = None,
        around: Sequence[Around] = (),
    ) -> None:
        self._name = name
        self._function = handler.function
        self._failure_log = failure_log
        self._reads = handler.reads
        self._gatherer = handler.gatherer
        self._beats = beats or self._beat
        self._around = around
        self._threads = threads
        self._limit_s = handler.policy.timeout_ms / 1000
        self._keeps_results = handler.policy.result_ttl_ms > 0
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._left: dict[int, asyncio.Future[None]] = {}
        self._in_threads: dict[int, Job] = {}
        self.reports: Reports | None = None

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """Call the handler once, and return the outcome."""
        # Not `Job(…)`: calling an alias of a generic class costs 1 µs.
        job: Job = received.Message(message, self._reads, self._beats, BEAT.get(), self.reports)
        try:
            if self._reads is not plain:
                job.body  # noqa: B018 - a body that does not fit is rejected before the call
            if self._around:
                answer = await self._within(job, message)
            elif self._threads is None:
                answer = await self._function(job)  # type: ignore[misc]
            else:
                answer = await self._in_thread(self._threads, job, message)
        except Reject as error:
            return self._shown(queue, message, rejected(error_text(error)))
        except RetryLater as error:
            said = later(error_text(error), after_ms=error.after_ms)
            return self._shown(queue, message, said)
        except HoldQueue as error:
            return self._shown(queue, message, queue_held(error_text(error), error.hold))
        except HoldKey as error:
            return self._shown(queue, message, key_held(error_text(error), error.hold))
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises is its outcome
            return self._raised(queue, message, job, as_outcome(error))
        finally:
            job.over = True
        return DELIVERED if not self._keeps_results else with_result(self._name, answer)

    def _raised(self, queue: Queue, message: Message, job: Job, error: Exception) -> Outcome:
        if job.cancelled:  # it was asked to end
            return self._shown(queue, message, later(STOPPED, after_ms=0))
        self._failure_log.raised(queue.name, message, error)
        said = failed(f"{type(error).__name__}: {error_text(error)}")
        if self._keeps_results:
            said = with_failure(said, error, message.attempts + 1)
        return self._shown(queue, message, said)

    def _shown(self, queue: Queue, message: Message, outcome: Outcome) -> Outcome:
        return self._failure_log.shown(queue.name, message, outcome)

    async def _within(self, job: Job, message: Message) -> object:
        """Call the handler inside what the program has put around tries."""
        async with AsyncExitStack() as stack:
            for hook in self._around:
                _ = await stack.enter_async_context(hook(job))  # it gives the handler nothing
            if self._threads is None:
                return await self._function(job)  # type: ignore[misc]
            return await self._in_thread(self._threads, job, message)
        return None  # a hook has kept what was raised to itself

    async def _in_thread(self, threads: Calls, job: Job, message: Message) -> object:
        self._in_threads[message.id] = job
        call = threads.call(partial(self._function, job))
        try:
            answer = await call.answer
        except asyncio.CancelledError:
            if not call.ended.done():
                self._left[message.id] = call.ended
            raise
        finally:
            self._in_threads.pop(message.id, None)
        return await answer if inspect.isawaitable(answer) else answer

    def _beat(self, beat: Beat) -> None:
        if threading.get_ident() == self._thread:
            beat(self._limit_s)
        else:
            self._loop.call_soon_threadsafe(beat, self._limit_s)

    def stop(self, number: int) -> bool:
        """Stop a try: a coroutine is cut, a thread sees `message.cancelled`."""
        if self._gatherer is not None:
            return self._gatherer.stop(to_text(number))
        if self._threads is None:
            return True
        if number in self._in_threads:
            self._in_threads[number].cancelled = True
        return False

    def remains(self, number: int) -> "asyncio.Future[None] | None":
        """Return the thread of a call that was cut, which nobody can stop."""
        return self._left.pop(number, None)

    def overdue(self, seconds: float) -> Outcome:
        """A handler that was cut has failed. A coroutine's own clean-up has run."""
        thread = "" if self._threads is None else "; its thread runs on until it ends by itself"
        return failed(f"cut after {seconds:g} s, the handler's timeout{thread}")

    def cut(self, message: Message, outcome: Outcome) -> None:
        """Log it like an exception; otherwise nobody notices a handler that hangs."""
        self._failure_log.cut(self._name, message, outcome.error)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
