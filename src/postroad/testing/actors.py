"""Plain functions in simulated time: a thread that runs only while the loop stands still."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from postroad.transports.threads import Call

R = TypeVar("R")


class Actor(threading.Thread):
    """Calls a plain function. Either it runs or the loop does, never both: so what it does takes
    no simulated time, and the verbs that it waits for take as long as they do there."""

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
        """In the loop: let it run until it ends or asks for something."""
        self._go.release()
        self._stands.acquire()
        if self._end is not None:
            self._call.finish(*self._end)
        elif self._asks is not None:
            self._reply = self._loop.create_task(self._asks)
            self._asks = None
            self._reply.add_done_callback(lambda _reply: self.step())

    def run(self) -> None:
        """In its own thread."""
        self._go.acquire()
        self._end = self._call.work()
        self._stands.release()

    def ask(self, verb: Coroutine[Any, Any, R]) -> R:
        """In its own thread: have the loop live through a verb."""
        self._asks = verb
        self._stands.release()
        self._go.acquire()
        answer: asyncio.Task[R] | None = self._reply
        if answer is None:
            raise RuntimeError("nobody answered")
        return answer.result()


class Actors:
    """In place of a handler's threads."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most

    def call(self, work: Callable[[], object]) -> Call:
        """Begin one, and let it run as far as it goes by itself."""
        call = Call(work)
        actor = Actor(call, asyncio.get_running_loop())
        actor.start()
        actor.step()
        return call
