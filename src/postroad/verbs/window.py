"""A road's window: a local socket by which commands and programs of the same user reach an open
road. What answers there is loaded at the first look, in a thread (decision 077)."""

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Final

from postroad.model.errors import PostroadError
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.naming import file_of
from postroad.stores.window_socket import Peer, listen, may_look, peer_of, remove, window_of

AT_ONCE: Final = 32
"""Connections that are answered at once; others wait to be accepted."""
GRACE_S: Final = 2.0
"""How long a road that closes waits for answers that are under way."""
PAUSE_S: Final = 0.1
"""Between two tries to accept when the machine has nothing left for a connection."""

ANSWERS: Final = "postroad.api.window"
"""The module that answers, by its name: it is above this room, and few roads are looked into."""

Answer = Callable[[socket.socket, Peer], Awaitable[None]]
"""Reads what a process asks on a connection, answers, and closes it."""


class RoadWindow:
    """Listens while `host`, the road of this DSN, is open. `answer` may be set before the first
    look; else it is loaded."""

    def __init__(self, host: object, dsn: str, clock: Clock, log: Log) -> None:
        self._host = host
        self._folder, self._road = window_of(dsn), file_of(dsn)
        self._clock = clock
        self._log = log
        self.answer: Answer | None = None
        self._socket: socket.socket | None = None
        self._accepting = Tasks(log)
        self._answers: set[asyncio.Task[None]] = set()
        self._answering = Tasks(log)

    def open(self) -> None:
        """Listen, if the road has a file. Where that cannot be, the road works without."""
        if self._folder is None or self._road is None:
            return
        try:
            taken = self._socket = listen(self._folder, self._road)
        except PostroadError as error:
            self._log.warning("this road has no window: commands cannot reach it", error=str(error))
            return
        taken.setblocking(False)
        self._loading, self._room = asyncio.Lock(), asyncio.Semaphore(AT_ONCE)
        _ = self._accepting.start(self._accept(taken), "window")  # it is cancelled by close

    async def close(self) -> None:
        """Accept nothing more, and end what is under way within GRACE_S."""
        if self._socket is None or self._folder is None:
            return
        await self._accepting.close()
        self._socket.close()
        self._socket = None
        remove(self._folder)
        if self._answers:
            await asyncio.wait(self._answers, timeout=GRACE_S)
        await self._answering.close()

    async def _accept(self, taken: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._room.acquire()
            try:
                line, _ = await loop.sock_accept(taken)
            except OSError:  # it went while it waited, or there is no descriptor
                self._room.release()
                await self._clock.sleep(PAUSE_S)
                continue
            task = self._answering.start(self._serve(line), "look")
            self._answers.add(task)
            task.add_done_callback(self._served)

    def _served(self, task: "asyncio.Task[None]") -> None:
        self._answers.discard(task)
        self._room.release()

    async def _serve(self, line: socket.socket) -> None:
        with line, suppress(OSError, asyncio.IncompleteReadError):  # the asker is gone
            peer = peer_of(line)
            if self._road is not None and may_look(peer, self._road):
                await (await self._loaded())(line, peer)

    async def _loaded(self) -> Answer:
        async with self._loading:
            if self.answer is None:
                # 60 modules: in the loop they would hold up the host's own work.
                self.answer = await asyncio.to_thread(self._load)
        return self.answer

    def _load(self) -> Answer:
        with _no_collection():
            answer: Answer = import_module(ANSWERS).answering(self._host)
        return answer


@contextmanager
def _no_collection() -> Iterator[None]:
    """Load without the collector: what is loaded brings a full collection about, which held the
    interpreter's lock for 25 of the 30 ms that a first look held up the loop. Nothing of it is
    garbage, so it is put straight among what is old."""
    if not gc.isenabled() or gc.get_freeze_count():
        yield  # the host has ways of its own
        return
    gc.disable()
    try:
        yield
        gc.freeze()
        gc.unfreeze()
    finally:
        gc.enable()
