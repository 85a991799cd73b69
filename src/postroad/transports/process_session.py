"""Tries of a handler that child processes call."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

from msgspec import Struct

from postroad.model.durations import CENTURY_S
from postroad.model.entities import Message, Policy, Queue
from postroad.model.foreign import error_text
from postroad.model.outcome import DELIVERED, STOPPED, Kind, Outcome, failed, later, unknown
from postroad.ports.transport import BEAT, Beat
from postroad.transports.child_frames import Beat as HeartBeat
from postroad.transports.child_frames import CallEnded, Reported, Said
from postroad.transports.children import START_S, ChildLost, ChildProcess, Children
from postroad.transports.failure_log import FailureLog
from postroad.transports.job import Around, Job, Reads, Reports, plain
from postroad.transports.raised import as_outcome


class FailedInChild(Exception):
    """What hooks around a try see of one that was not delivered: its error is the text."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


class ChildCall(Struct, eq=False):
    """A try, and the child that is called for it."""

    child: ChildProcess | None = None
    over: bool = False
    """The child has answered or is gone."""
    ending: "asyncio.Task[None] | None" = None
    """The end of the child, where it ends with the call."""


class ProcessSession:
    """Has one handler called in its child processes."""

    def __init__(
        self, name: str, children: Children, policy: Policy, failure_log: FailureLog
    ) -> None:
        self._name = name
        self._children = children
        self._at_most_once = policy.at_most_once
        self._limit_s = policy.timeout_ms / 1000
        self._failure_log = failure_log
        self.reports: Reports | None = None
        self.around: Sequence[Around] = ()
        self.reads: Reads = plain
        self._calls: dict[int, ChildCall] = {}

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """Call the handler once, and return the outcome."""
        beat = BEAT.get()
        beat(CENTURY_S)  # its time begins with the call
        await self._children.place()
        call = self._calls[message.id] = ChildCall()
        try:
            if self.around:
                return await self._within(queue, message, beat)
            return await self._in_turn(queue, message, beat)
        finally:
            del self._calls[message.id]
            self._children.leave(call.ending)

    async def _within(self, queue: Queue, message: Message, beat: Beat) -> Outcome:
        """Make the call inside what the program has put around tries, in this process."""
        job = Job(message, self.reads, lambda one: one(self._limit_s), beat, self.reports)
        try:
            async with AsyncExitStack() as stack:
                for hook in self.around:
                    _ = await stack.enter_async_context(hook(job))  # it gives the handler nothing
                outcome = await self._in_turn(queue, message, beat)
                if outcome.kind is not Kind.delivered:
                    raise FailedInChild(outcome)  # noqa: TRY301 - hooks are to see it
                return outcome
        except FailedInChild as error:
            return error.outcome
        except BaseException as raised:  # noqa: BLE001 - whatever a hook raises is the outcome
            wrong = as_outcome(raised)
            self._failure_log.raised(queue.name, message, wrong)
            said = failed(f"{type(wrong).__name__}: {error_text(wrong)}")
            return self._failure_log.shown(queue.name, message, said)
        return DELIVERED  # a hook has kept the failure to itself

    async def _in_turn(self, queue: Queue, message: Message, beat: Beat) -> Outcome:
        try:
            child = self._children.take() or await self._start(beat)
        except ChildLost as error:
            self._failure_log.lost(queue.name, message, str(error))
            return failed(str(error))
        try:
            ended = await self._call(child, message, beat)
        except ChildLost as error:
            if child.stopped:
                return later(STOPPED, after_ms=0)
            self._failure_log.lost(queue.name, message, str(error))
            return unknown(str(error)) if self._at_most_once else failed(str(error))
        if child.stopped and ended.outcome.kind is Kind.failed:
            return later(STOPPED, after_ms=0)
        outcome = self._failure_log.shown(queue.name, message, ended.outcome)
        if ended.trace:
            self._failure_log.raised_in_child(queue.name, message, outcome.error, ended.trace)
        return outcome

    async def _start(self, beat: Beat) -> ChildProcess:
        """Start a child. What it imports may take longer than a call."""
        beat(START_S)
        return await self._children.start()

    async def _call(self, child: ChildProcess, message: Message, beat: Beat) -> CallEnded:
        call = self._calls[message.id]
        call.child = child
        beat(self._limit_s)
        try:
            ended = await child.call(message, partial(self._heard, message, beat))
        except BaseException:  # it is gone, or this try was cut
            call.ending = self._children.drop(child, cut=True)
            raise
        finally:
            call.over = True
        if child.stopped:
            call.ending = self._children.drop(child)
        else:
            self._children.give(child)
        return ended

    def _heard(self, message: Message, beat: Beat, said: Said) -> None:
        if isinstance(said, HeartBeat):
            beat(self._limit_s)
        elif isinstance(said, Reported) and self.reports is not None:
            self.reports(message, said.done, said.total, said.note)

    def stop(self, number: int) -> bool:
        """Stop a try: one whose call has begun ends with it, and is done if the handler says so."""
        call = self._calls.get(number)
        if call is None or call.child is None:
            return True
        if not call.over:
            call.child.stop()
        return False

    def overdue(self, seconds: float) -> Outcome:
        """A call that was cut has failed; its process ends."""
        return failed(f"cut after {seconds:g} s, the handler's timeout; its process was ended")

    def cut(self, message: Message, outcome: Outcome) -> None:
        """Log it like an exception; otherwise nobody notices a handler that hangs."""
        self._failure_log.cut(self._name, message, outcome.error)

    async def close(self) -> None:
        """The lanes of a handler share their children."""
