"""The child process of a handler with `process=True`: `python -c … FD`. It imports the handler,
then calls it for one message after the other, until the engine closes the pipe or ends."""

import asyncio
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from importlib import import_module
from multiprocessing import spawn
from typing import Any, Final, NoReturn

from postroad.model.entities import Message, Policy, Queue
from postroad.model.foreign import error_text
from postroad.model.outcome import Outcome
from postroad.transports.call_plan import plan_call
from postroad.transports.child_frames import (
    CUT,
    MESSAGES,
    STARTS,
    Beat,
    CallEnded,
    Frames,
    Ready,
    Reported,
    Said,
    Start,
    framed,
)
from postroad.transports.handler import Handler, HandlerSession
from postroad.transports.job_progress import check_progress, shortened
from postroad.transports.job_result import trace_of
from postroad.transports.raised import Cut
from postroad.transports.threads import Call

FOR_ENGINE: Final = (signal.SIGINT, signal.SIGTERM)
TELL_S: Final = 0.2
"""A child tells its engine how far it has come no more often than this."""


class CallsHere:
    """Calls functions at once, in the main thread of this process."""

    def call(self, work: Callable[[], object]) -> Call:
        """Make the call; it has ended then."""
        call, pid = Call(work), os.getpid()
        value, error = call.work()
        if os.getpid() != pid:
            end_copy(error)
        if isinstance(error, Cut):
            raise error
        call.finish(value, error)
        return call


class CutSignal:
    """The engine's signal that ends a call, and this process with it. A call that has come to its
    end is told of first: what a handler has done is not to be cancelled."""

    def __init__(self) -> None:
        self._open = True  # also while the handler is imported
        self._heard = False

    def hear(self, *_: object) -> None:
        """Take the signal."""
        self._heard = True
        if self._open:
            raise Cut(1)

    def open(self) -> None:
        """A call begins; the signal may have come before it."""
        self._open = True
        if self._heard:
            raise Cut(1)

    def close(self) -> None:
        """A call has ended."""
        self._open = False


class Traces:
    """Notes what a handler raised, for the log of the engine."""

    def __init__(self) -> None:
        self.last = ""

    def raised(self, _queue: str, _message: Message, error: Exception) -> None:
        """Note the traceback."""
        self.last = trace_of(error).rstrip()

    def cut(self, queue: str, message: Message, error: str) -> None:
        """Never called: the engine cuts."""

    def shown(self, _queue: str, _message: Message, outcome: Outcome) -> Outcome:
        """The engine knows what is not shown."""
        return outcome


class ChildWorker:
    """Calls one handler for an engine."""

    def __init__(self, pipe: socket.socket, cut: CutSignal) -> None:
        self._pipe = pipe
        self._cut = cut
        self._pid = os.getpid()
        self._frames = Frames(pipe)
        self._writing = threading.Lock()
        self._progress = ProgressTeller(self._say)

    def run(self) -> None:
        """Import the handler, then work until the engine is gone."""
        start = STARTS.decode(self._frames.next())
        try:
            handler = load(start)
        except BaseException as error:  # noqa: BLE001 - whatever a program does when it is imported
            self._say(Ready(f"{type(error).__name__}: {error_text(error)}"))
            return
        self._cut.close()
        self._say(Ready())
        asyncio.run(self._serve(start.queue, handler))

    async def _serve(self, name: str, handler: Handler) -> None:
        traces = Traces()
        session = HandlerSession(name, handler, CallsHere(), traces, beats=self._beat)
        session.reports = self._progress.report
        queue = Queue(0, "", name, handler.policy, ())
        while True:
            try:
                message = MESSAGES.decode(self._frames.next())
            except (EOFError, ConnectionError):
                return
            traces.last = ""
            self._cut.open()
            outcome = await session.send(queue, message)
            self._cut.close()
            self._progress.tell()
            self._say(CallEnded(outcome, traces.last))

    def _beat(self, _beat: object) -> None:
        self._say(Beat())

    def _say(self, what: Said) -> None:
        if os.getpid() != self._pid:
            return  # a copy that the handler has forked; its lock may be held for ever
        with self._writing:  # threads of a handler beat too
            self._pipe.sendall(framed(what))


class ProgressTeller:
    """Tells the engine how far a call has come: the latest report, and no more often than is of
    use, since a handler may report a million times."""

    def __init__(self, say: Callable[[Said], None]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._latest: Reported | None = None
        self._reported = threading.Event()
        self._pause = threading.Event()
        self._thread: threading.Thread | None = None

    def report(self, _message: Message, done: float, total: float, note: str) -> None:
        """Take a report, from any thread of the handler."""
        check_progress(done, total)
        with self._lock:
            self._latest = Reported(float(done), float(total), shortened(note))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
                self._thread.start()
        self._reported.set()

    def tell(self) -> None:
        """Tell the latest now. The lock is kept, so that no report comes after its call's end."""
        with self._lock:
            latest, self._latest = self._latest, None
            if latest is not None:
                self._say(latest)

    def _run(self) -> None:
        while self._reported.wait():
            self._reported.clear()
            self.tell()
            self._pause.wait(TELL_S)


def load(start: Start) -> Handler:
    """Import a handler by the name of its module and its own."""
    spawn.prepare(start.preparation)
    found: Any = reduce(getattr, start.name.split("."), import_module(start.module))
    if not callable(found):
        raise TypeError(f"{start.module}.{start.name} is no function")
    function = getattr(found, "function", found)  # a registered function has a `send` around it
    plan = plan_call(function, start.queue, {})
    policy = Policy(timeout_ms=start.timeout_ms, result_ttl_ms=start.result_ttl_ms)
    return Handler(plan.handle, policy, 1, plan.reads)


def main() -> None:
    """Run the child whose pipe the last argument names."""
    # They are for the engine, which finishes or cuts what runs here; a terminal sends them to all.
    # Not SIG_IGN, which programs that a handler starts would inherit: `terminate()` would not end
    # them.
    for number in FOR_ENGINE:
        signal.signal(number, _leave_to_engine)
    cut = CutSignal()
    signal.signal(CUT, cut.hear)
    pipe = socket.socket(fileno=int(sys.argv[1]))
    pipe.set_inheritable(False)
    _mark_copies(pipe)
    threading.Thread(target=_end_with, args=(pipe,), name="lifeline", daemon=True).start()
    try:
        ChildWorker(pipe, cut).run()
    finally:
        signal.signal(CUT, signal.SIG_IGN)  # it ends by itself


def _leave_to_engine(*_: object) -> None:
    """The engine acts on this signal."""


def _mark_copies(pipe: socket.socket) -> None:
    """Make each copy of this process, forked by a handler, a process as any other: the pipe is not
    its own, and while it were open there, nobody would see that this process has ended; signals end
    it. A signal that meets a copy before its handlers are gone would be forgotten by Python, so
    signals wait while this process forks."""
    numbers, masks = (*FOR_ENGINE, CUT), threading.local()

    def hold_signals() -> None:
        masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)

    def let_signals() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.before)

    def become_copy() -> None:
        pipe.close()
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
        let_signals()

    os.register_at_fork(
        before=hold_signals, after_in_parent=let_signals, after_in_child=become_copy
    )


def end_copy(error: BaseException | None) -> NoReturn:
    """End a copy that a handler has forked and returned in; the call is answered by the process
    that forked. As for a process of `multiprocessing`, its exit code and its standard error tell
    what was raised."""
    code = 0 if error is None else 1
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        traceback.print_exception(error)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # it ends anyhow
            stream.flush()
    os._exit(code & 0xFF)


def _end_with(pipe: socket.socket) -> None:
    """End this process when the engine's is gone: its message is another's by then."""
    hangup = select.poll()
    hangup.register(pipe, 0)
    hangup.poll()
    if threading.main_thread().is_alive():
        os._exit(1)
