"""The watchdog logs the stack of a stuck event loop, and ends a server that has one.

A stuck loop delivers nothing and answers no signal, and its lanes stay with it until their lease
ends. faulthandler's thread writes the stacks, since it does not need the interpreter's lock. In
other people's programs a thread reads them; for a server of ours, a process beside it.
"""

import asyncio
import ctypes
import faulthandler
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from postroad.observe.watcher import END_FIRST, TICKS, debugged, read_stack
from postroad.ports.clock import SystemClock
from postroad.ports.log import Log

WATCHER: Final = Path(__file__).with_name("watcher.py")


class Heartbeat:
    """Beats in the loop. When a beat is overdue, the stacks of all threads go into `dump`."""

    def __init__(self, stuck_after_s: float, log: Log, beaten: Callable[[], None]) -> None:
        self.tick_s = stuck_after_s / TICKS
        self.dump = _scratch()
        self._stuck_after_s = stuck_after_s
        self._log = log
        self._beaten = beaten
        self._clock = SystemClock()
        self._reading = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Beat from now on, in the running loop."""
        self._loop = asyncio.get_running_loop()
        self._beat()

    def _beat(self) -> None:
        self.tell_stack()
        if sys.gettrace() is None:
            faulthandler.dump_traceback_later(self._stuck_after_s, file=self.dump)
        else:  # somebody steps through the program
            faulthandler.cancel_dump_traceback_later()
        self._beaten()
        self._timer = self._loop.call_later(self.tick_s, self._beat)

    def tell_stack(self, *, stuck: bool = False) -> None:
        """Log the stacks of a stall, once; when it is `stuck` now, those of now if need be.

        A process that was stopped or suspended writes them when it goes on, just before its loop
        is back: stacks that are new then belong to no stall.
        """
        with self._reading:
            if stuck and not read_stack(self.dump.fileno()):
                # Another loop of this process beats, and has put off the one alarm there is.
                faulthandler.dump_traceback(file=self.dump)
            stack = read_stack(self.dump.fileno())
            if not stack:
                return
            age_s = self._clock.now_ms() / 1000 - os.fstat(self.dump.fileno()).st_mtime
            self.dump.seek(0)
            self.dump.truncate()
        if (stuck or age_s > 3 * self.tick_s) and not debugged(stack):
            stuck_s = round(self._stuck_after_s + age_s, 1)
            self._log.error("the event loop is stuck", stuck_s=stuck_s, stack=stack)

    def stop(self) -> None:
        """Stop beating: the loop ends."""
        if self._timer is not None:
            self._timer.cancel()
        faulthandler.cancel_dump_traceback_later()
        with self._reading:
            self.dump.close()


class StallThread(threading.Thread):
    """Logs the stacks while a loop is stuck that may never come back."""

    def __init__(self, stuck_after_s: float, log: Log) -> None:
        super().__init__(name="postroad-watchdog", daemon=True)
        self._heartbeat = Heartbeat(stuck_after_s, log, self._beaten)
        self._missed = 0
        self._ended = threading.Event()

    def _beaten(self) -> None:
        self._missed = 0

    def run(self) -> None:
        """Count own ticks without a beat: none pass while the process is stopped."""
        while not self._ended.wait(self._heartbeat.tick_s):
            self._missed += 1
            if self._missed == TICKS + 2:
                self._heartbeat.tell_stack(stuck=True)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the running loop."""
        self._heartbeat.start()
        self.start()
        try:
            yield
        finally:
            self._ended.set()
            self.join()
            self._heartbeat.stop()


@contextmanager
def log_when_stuck(stuck_after_s: float, log: Log) -> Iterator[None]:
    """For a loop that belongs to somebody else: the stack of a stall is logged. 0: nothing is."""
    if not stuck_after_s:
        yield
        return
    with StallThread(stuck_after_s, log).watching():
        yield


@contextmanager
def end_when_stuck(
    stuck_after_s: float, log: Log, form: str, watcher: Path = WATCHER
) -> Iterator[None]:
    """For a server: when the running loop is stuck, a process beside it prints the stack and ends
    this one, so that its supervisor restarts it. 0: it does not."""
    if not stuck_after_s:
        yield
        return
    beats_out, beats_in = os.pipe()
    os.set_blocking(beats_in, False)

    def beaten() -> None:
        # Full: the watcher is stopped. Broken: it is gone, and nobody ends us.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(beats_in, b".")

    heartbeat = Heartbeat(stuck_after_s, log, beaten)
    dump = heartbeat.dump.fileno()
    numbers = (str(os.getpid()), str(stuck_after_s), str(dump))
    process: subprocess.Popen[bytes] | None = None
    try:
        process = subprocess.Popen(  # noqa: S603 - our own file
            (sys.executable, "-I", "-S", str(watcher), *numbers, form),
            stdin=beats_out,
            stdout=subprocess.DEVNULL,
            pass_fds=(dump,),
            start_new_session=True,  # Ctrl+C is for the server
        )
    except OSError as error:  # no process more is allowed here
        log.warning("the watchdog did not start", error=str(error))
    os.close(beats_out)
    if os.getpid() == 1:
        _let_first_be_ended()
    heartbeat.start()
    try:
        yield
    finally:
        heartbeat.stop()
        if process is not None:
            # Before the beats end: a child that a handler forked has their pipe open as well, and
            # then the watcher would take the end for a stall.
            process.kill()
            process.wait()
        os.close(beats_in)


def _scratch() -> IO[bytes]:
    """A file that both processes can have open, in memory where there is such a thing: a container
    may have no folder that can be written to."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("postroad-stacks"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _let_first_be_ended() -> None:
    """The first process of a container gets no signal from inside that it has not asked for, not
    even SIGKILL. Its handler for this one is the C function that ends it: Python's would wait for
    the interpreter."""
    libc = ctypes.CDLL(None)
    libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    libc.signal.restype = ctypes.c_void_p
    libc.signal(END_FIRST, ctypes.cast(libc._exit, ctypes.c_void_p))  # noqa: SLF001
