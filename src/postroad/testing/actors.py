"""Plain functions in simulated time, in threads that run only while the loop is stopped."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from postroad.transports.threads import Call

R = TypeVar("R")


class Actor(threading.Thread):
    """A thread that calls a plain function. Either it runs or the loop does, never both: its own
    work takes no simulated time, and verbs that it waits for take their simulated time."""

    def __init__(self, call: Call, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(name="postroad actor", daemon=True)
        self._call = call
        self._loop = loop
        self._go = threading.Semaphore(0)
        self._stands = threading.Semaphore(0)
        self._asks: Coroutine[Any, Any, Any] | None = None
        self._reply: asyncio.Task[Any] | None = None
        self._end: tuple[object, BaseException | None] | None = None

    def step(self) -> None:
        """In the loop: run the function until it ends or waits for a verb."""
        self._go.release()
        self._stands.acquire()
        if self._end is not None:
            self._call.finish(*self._end)
        elif self._asks is not None:
            self._reply = self._loop.create_task(self._asks)
            self._asks = None
            self._reply.add_done_callback(lambda _reply: self.step())

    def run(self) -> None:
        """In its own thread: call the function."""
        self._go.acquire()
        self._end = self._call.work()
        self._stands.release()

    def ask(self, verb: Coroutine[Any, Any, R]) -> R:
        """In its own thread: have the loop run a verb, and wait for it."""
        self._asks = verb
        self._stands.release()
        self._go.acquire()
        answer: asyncio.Task[R] | None = self._reply
        if answer is None:
            raise RuntimeError("nobody answered")
        return answer.result()


class Actors:
    """Replaces the threads of a handler."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most

    def call(self, work: Callable[[], object]) -> Call:
        """Start a function, and run it until it ends or waits."""
        call = Call(work)
        actor = Actor(call, asyncio.get_running_loop())
        actor.start()
        actor.step()
        return call
