"""TLS begun by us, so that handshakes are counted and timed as requests are."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from postroad.api.connections import Connections
from postroad.api.listening import Strict
from postroad.ports.clock import Clock

PAUSE_S: Final = 0.1
"""Between two tries to accept when the machine has nothing left for a connection."""


class TlsServer:
    """Accepts connections on a port and shakes hands; has what uvicorn asks of a server."""

    def __init__(
        self,
        made: Callable[[], Strict],
        connections: Connections,
        context: ssl.SSLContext,
        clock: Clock,
    ) -> None:
        self._made = made
        self._house = connections
        self._context = context
        self._clock = clock
        self._handshakes: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def listen(self, taken: socket.socket) -> None:
        """Begin."""
        taken.setblocking(False)
        self._task = asyncio.get_running_loop().create_task(self._accept(taken))

    def close(self) -> None:
        """Take no more."""
        if self._task is not None:
            self._task.cancel()

    async def wait_closed(self) -> None:
        """Until that is so."""
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task

    async def _accept(self, taken: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                line, where = await loop.sock_accept(taken)
            except OSError:  # it went while it waited, or there is no descriptor
                await self._clock.sleep(PAUSE_S)
                continue
            handshake = Handshake(line, str(where[0]), loop.time() + self._house.patience.head_s)
            if not self._house.admit(handshake):
                line.close()
                continue
            task = loop.create_task(self._shake(handshake))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    async def _shake(self, handshake: "Handshake") -> None:
        loop, protocol = asyncio.get_running_loop(), self._made()
        protocol.handshake = handshake
        try:
            _ = await loop.connect_accepted_socket(  # from now on the protocol knows its transport
                lambda: protocol, handshake.line, ssl=self._context
            )
        except (OSError, EOFError):  # ssl.SSLError is one: no TLS, or none that we know
            handshake.line.close()
        finally:
            self._house.forget(handshake)


class Handshake:
    """A connection before its handshake is done."""

    def __init__(self, line: socket.socket, address: str, until_s: float) -> None:
        self.line = line
        self.address = address
        self._until_s = until_s

    def overdue(self, now_s: float) -> str:
        """Whether the handshake takes too long."""
        return "no TLS handshake" if now_s > self._until_s else ""

    def end(self) -> None:
        """Close it."""
        self.drop()

    def drop(self) -> None:
        """Close it: the handshake fails then, and lets go of the rest."""
        with suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)
