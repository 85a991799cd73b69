"""Threads for plain functions. Their number is bounded, and none keeps the process from ending."""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from postroad.transports.raised import named

IDLE_S: Final = 10.0
"""A thread with nothing to do for so long ends."""


class Call:
    """One call in a thread. `answer` can be cancelled; `ended` is set when the thread is done with
    it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self.answer: asyncio.Future[object] = self._loop.create_future()
        self.ended: asyncio.Future[None] = self._loop.create_future()

    def work(self) -> tuple[object, BaseException | None]:
        """Run the function; return its value and its exception."""
        try:
            return self._context.run(self._work), None
        except BaseException as raised:  # noqa: BLE001 - handed to the one who waits
            return None, raised

    def run(self) -> None:
        """Run the function, then tell the loop."""
        value, error = self.work()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self.finish, value, error)

    def finish(self, value: object, error: BaseException | None) -> None:
        """Set the results, in the loop's thread."""
        self.ended.set_result(None)
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(value)
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            self.answer.set_exception(error)
        else:  # SystemExit and its like end a thread, not the loop; StopIteration ends no future
            self.answer.set_exception(named(error))


class Calls(Protocol):
    """Runs plain functions."""

    def call(self, work: Callable[[], object]) -> Call:
        """Start a call."""


class Threads:
    """The threads of one handler, started when needed. There are as many as its `concurrency`, so
    that a call never waits for a thread."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._calls: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._count = 0
        self._free = 0
        """Threads that wait for a call, less the calls that wait for a thread."""

    def call(self, work: Callable[[], object]) -> Call:
        """Start a call."""
        call = Call(work)
        with self._lock:
            self._free -= 1
            self._calls.put(call)
            if self._free < 0 and self._count < self._most:
                self._count += 1
                self._free += 1
                # A daemon: a thread that hangs must not keep the process from ending.
                name = f"postroad {self._name}"
                threading.Thread(target=self._turn, name=name, daemon=True).start()
        return call

    def _turn(self) -> None:
        while True:
            try:
                call = self._calls.get(timeout=IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._free <= 0:
                        continue  # a call came while this thread gave up waiting
                    self._free -= 1
                    self._count -= 1
                    return
            call.run()
            del call
            with self._lock:
                self._free += 1
