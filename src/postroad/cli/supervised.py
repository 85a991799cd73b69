"""A process under a supervisor: the connection between them, and what each asks the other."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct

from postroad.api.serving import ApiServer
from postroad.observe.metrics import CountedSample

VARIABLE: Final = "POSTROAD_SUPERVISED"
"""Given to a process by its supervisor: the descriptor of the connection, and its number from 0."""
LINE_BYTES_MAX: Final = 16 << 20
SUM_S: Final = 3.0


class Word(Struct):
    """What is said: `started`, `count` and its answer `counted`, `sum` and its answer `summed`."""

    kind: str
    counts: list[CountedSample] = []


class SupervisorConnection:
    """One end of the connection between a supervisor and its process: lines of JSON."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> "SupervisorConnection":
        """Open one over a socket."""
        return cls(*await asyncio.open_connection(sock=end, limit=LINE_BYTES_MAX))

    def say(self, kind: str, counts: list[CountedSample] | None = None) -> None:
        """Say a word. Whether the other is still there is known by hearing."""
        self._writer.write(msgspec.json.encode(Word(kind, counts or [])) + b"\n")

    async def hear(self) -> Word | None:
        """The next word; None when the other is gone."""
        with suppress(ConnectionError):
            line = await self._reader.readline()
            return msgspec.json.decode(line, type=Word) if line else None
        return None

    def close(self) -> None:
        """Close it."""
        self._writer.close()


class SupervisedProcess:
    """This process, if a supervisor started it."""

    def __init__(self, descriptor: int, number: int) -> None:
        self.number = number
        self._end = socket.socket(fileno=descriptor)
        # The connection is this process's alone: while a copy that a handler forks, or a program
        # that it starts, has it too, the supervisor does not see that this process has ended.
        self._end.set_inheritable(False)
        os.register_at_fork(after_in_child=self._leave_connection)
        self._connection: SupervisorConnection | None = None
        self._summed: asyncio.Future[list[CountedSample]] | None = None

    @classmethod
    def found(cls) -> "SupervisedProcess | None":
        """What the environment says; it is not for processes that this one starts."""
        said = os.environ.pop(VARIABLE, "")
        if not said:
            return None
        descriptor, _, number = said.partition(":")
        return cls(int(descriptor), int(number))

    def _leave_connection(self) -> None:
        descriptor = self._end.detach()  # close() would leave it open while uvloop uses it
        if descriptor >= 0:
            os.close(descriptor)

    async def serve(self, server: ApiServer, counts: Callable[[], list[CountedSample]]) -> None:
        """Tell that this process works, answer the supervisor, and stop when it is gone."""
        connection = self._connection = await SupervisorConnection.over(self._end)
        connection.say("started")
        while (word := await connection.hear()) is not None:
            if word.kind == "count":
                connection.say("counted", counts())
            elif self._summed is not None and not self._summed.done():
                self._summed.set_result(word.counts)
        server.stop()

    async def others(self, own: list[CountedSample]) -> list[CountedSample]:
        """What the other processes have counted, and those that ended."""
        if self._connection is None:
            return []
        if self._summed is None or self._summed.done():
            self._summed = asyncio.get_running_loop().create_future()
            self._connection.say("sum", own)
        with suppress(TimeoutError):
            async with asyncio.timeout(SUM_S):
                return await asyncio.shield(self._summed)
        return []
