"""Child processes that call a plain function, for work that would hold up the interpreter.

A child is a fresh interpreter, never a fork of this one: a fork copies the locks of threads that do
not run on in it. It is started when it is needed, and ended when it has had nothing to do for a
minute. A child that crashes, or whose call is cut, takes nothing with it but that call."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from postroad.model.entities import Message, Policy
from postroad.transports.child_frames import (
    CUT,
    READ_BYTES,
    SAID,
    Beat,
    CallEnded,
    Ready,
    Reported,
    Said,
    Start,
    framed,
    taken,
)
from postroad.transports.function_place import FunctionPlace

IDLE_S: Final = 60.0
"""A child with nothing to do for so long is ended."""
START_S: Final = 60.0
"""How long a child may take to import its handler; that does not count towards a try's timeout."""
END_S: Final = 2.0
"""How long a child may take to end after it was told to. Then it is killed."""
BROKEN_S: Final = 10.0
"""After a child that could not import its handler, calls fail for so long without another one:
an interpreter a message would be 300 ms of CPU each."""
COMMAND: Final = "from postroad.transports.child_main import main; main()"
MAIN: Final = ("init_main_from_name", "init_main_from_path")


class ChildLost(Exception):
    """A child has ended during a call, or could not begin one."""


class ChildProcess:
    """One child process."""

    def __init__(self, start: Start) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            with theirs:
                self._process = _started(theirs.fileno())
        except OSError as error:  # no memory, or too many processes
            ours.close()
            raise ChildLost(f"a child process cannot be started: {error.strerror}") from error
        self._pipe = ours
        self._start = start
        self._read = bytearray()
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Said] | None = None
        """Waits for the end of a call, or for the end of its import."""
        self._hears: Callable[[Said], None] = _ignored
        """What it says meanwhile. A thread that outlives its call is not heard."""
        self.alive = True
        """Whether the child has its pipe open."""
        self._loop.add_reader(ours, self._readable)
        self.rest: asyncio.TimerHandle | None = None
        self.stopped = False
        """It was told to end its call."""
        self._kill_later: asyncio.TimerHandle | None = None

    async def ready(self) -> None:
        """Wait until it has imported its handler; ChildLost says why it did not."""
        said = await self._asked(framed(self._start), _ignored)
        if not isinstance(said, Ready) or said.error:
            where = f"{self._start.module}.{self._start.name}"
            why = getattr(said, "error", "")
            raise ChildLost(
                f"a child process cannot import {where} ({why}): a handler with process=True is a "
                "function at the top level of a module, which must be there when it is imported"
            )

    async def call(self, message: Message, hears: Callable[[Said], None]) -> CallEnded:
        """Have it make one call. `hears` gets what the handler says meanwhile."""
        said = await self._asked(framed(message), hears)
        if not isinstance(said, CallEnded):
            raise await self._lost()
        return said

    async def _asked(self, frame: bytes, hears: Callable[[Said], None]) -> Said:
        self._hears, self._answer = hears, self._loop.create_future()
        try:
            sent = self._sent(frame)
            if sent < len(frame):
                await self._loop.sock_sendall(self._pipe, frame[sent:])
            return await self._answer
        except ConnectionError as error:
            raise await self._lost() from error
        finally:
            self._hears, self._answer = _ignored, None

    def _sent(self, frame: bytes) -> int:
        try:
            return self._pipe.send(frame)
        except BlockingIOError:
            return 0

    def _readable(self) -> None:
        """Take in what it has said. There is a reader all the time: one for each answer would cost
        four system calls more."""
        try:
            if not (more := self._pipe.recv(READ_BYTES)):
                raise ConnectionResetError  # noqa: TRY301 - as when it is killed
            self._read += more
            while (frame := taken(self._read)) is not None:
                self._take(SAID.decode(frame))
        except BlockingIOError:
            return
        except Exception as error:  # noqa: BLE001 - also what is no frame is for the one who waits
            self.alive = False
            self._loop.remove_reader(self._pipe)
            if self._answer is not None and not self._answer.done():
                self._answer.set_exception(error)

    def _take(self, said: Said) -> None:
        if isinstance(said, (Beat, Reported)):
            self._hears(said)
        elif self._answer is not None and not self._answer.done():
            self._answer.set_result(said)

    async def _lost(self) -> ChildLost:
        """What became of a child that closed its pipe."""
        code = await self._ended()
        how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        return ChildLost(f"the child process of this call ended {how}")

    def stop(self) -> None:
        """Have it end its call, which may still say that it is done; it is killed if it does not
        end in time. It gets no other call, for which it could take the signal."""
        if not self.stopped:
            self._tell_cut()
            self._kill_later = self._loop.call_later(END_S, self._process.kill)

    def _tell_cut(self) -> None:
        self.stopped = True
        with suppress(OSError):  # it has ended
            self._process.send_signal(CUT)  # unless it was waited for: its number is free then

    async def end(self, *, cut: bool = False) -> None:
        """End it: when it is idle; with `cut`, during a call."""
        for timer in (self.rest, self._kill_later):
            if timer is not None:
                timer.cancel()
        if cut and not self.stopped:
            self._tell_cut()
        with suppress(OSError):
            self._pipe.shutdown(socket.SHUT_WR)
        _ = await self._ended()  # how it ended is no news
        self._loop.remove_reader(self._pipe)
        self._pipe.close()

    async def _ended(self) -> int:
        """Wait until it has ended, and kill it if that takes too long."""
        return await asyncio.to_thread(self._wait)

    def _wait(self) -> int:
        try:
            return self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _ignored(_said: Said) -> None:
    """Nobody waits for it."""


def _started(pipe: int) -> "subprocess.Popen[bytes]":
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001
    return subprocess.Popen(  # noqa: S603 - this interpreter
        (sys.executable, *flags, "-c", COMMAND, str(pipe)),
        pass_fds=(pipe,),
        stdin=subprocess.DEVNULL,
    )


class Children:
    """The child processes of one handler, as many as its `concurrency`. Calls wait for one in
    line, so that a child gets the next message as soon as it has answered the last one."""

    def __init__(self, queue: str, place: FunctionPlace, policy: Policy, most: int) -> None:
        prepared = _preparation(place.module)
        self._start = Start(
            queue, place.module, place.name, policy.timeout_ms, policy.result_ttl_ms, prepared
        )
        self._loop = asyncio.get_running_loop()
        self._broken = ""
        """Why the last one could not be started; until then none is."""
        self._broken_until_s = 0.0
        self._free = asyncio.Semaphore(most)
        self._idle: list[ChildProcess] = []
        self._all: set[ChildProcess] = set()
        self._ending: set[asyncio.Task[None]] = set()

    async def place(self) -> None:
        """Wait for the turn of a call: then there is an idle child, or one may be started."""
        _ = await self._free.acquire()  # it is always true

    def leave(self, ending: "asyncio.Task[None] | None") -> None:
        """A call has ended; another one may begin when its child has ended, if that ends."""
        if ending is None:
            self._free.release()
        else:
            ending.add_done_callback(lambda _: self._free.release())

    def take(self) -> ChildProcess | None:
        """Take one that is idle, if there is any."""
        while self._idle:
            child = self._idle.pop()
            if child.rest is not None:
                child.rest.cancel()
            if child.alive:
                return child
            _ = self.drop(child)  # nobody waits for it
        return None

    async def start(self) -> ChildProcess:
        """Start one; ChildLost says why it could not be."""
        if self._broken and self._loop.time() < self._broken_until_s:
            raise ChildLost(self._broken)
        child = ChildProcess(self._start)
        self._all.add(child)
        try:
            await child.ready()
        except BaseException as error:
            if isinstance(error, ChildLost):
                self._broken, self._broken_until_s = str(error), self._loop.time() + BROKEN_S
            _ = self.drop(child, cut=True)  # it has called nothing
            raise
        return child

    def give(self, child: ChildProcess) -> None:
        """Give one back whose call has ended."""
        self._idle.append(child)
        child.rest = self._loop.call_later(IDLE_S, self._rests, child)

    def _rests(self, child: ChildProcess) -> None:
        self._idle.remove(child)
        _ = self.drop(child)  # nobody waits for it

    def drop(self, child: ChildProcess, *, cut: bool = False) -> "asyncio.Task[None]":
        """End one, beside other work."""
        self._all.discard(child)
        task = self._loop.create_task(child.end(cut=cut))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    async def close(self) -> None:
        """End all of them."""
        for child in tuple(self._all):
            _ = self.drop(child, cut=child not in self._idle)  # all are waited for
        self._idle.clear()
        _ = await asyncio.gather(*self._ending)  # each says nothing


def _preparation(module: str) -> dict[str, object]:
    """What makes a child like this process: its path, its folder, and `__main__` where the handler
    is in it."""
    from multiprocessing import spawn  # takes 20 ms

    made = spawn.get_preparation_data("postroad handler")
    del made["authkey"]
    kept = made if module == "__main__" else {k: v for k, v in made.items() if k not in MAIN}
    return dict(kept)
