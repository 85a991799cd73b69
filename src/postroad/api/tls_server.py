"""TLS handshakes for the API, limited in number and time as requests are."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from postroad.api.connections import ApiConnections
from postroad.api.listening import StrictProtocol
from postroad.ports.clock import Clock

PAUSE_S: Final = 0.1
"""Between two tries to accept when the machine has nothing left for a connection."""


class TlsServer:
    """Accepts connections and does their handshakes; has what uvicorn asks of a server."""

    def __init__(
        self,
        made: Callable[[], StrictProtocol],
        connections: ApiConnections,
        context: ssl.SSLContext,
        clock: Clock,
    ) -> None:
        self._made = made
        self._connections = connections
        self._context = context
        self._clock = clock
        self._handshakes: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def listen(self, taken: socket.socket) -> None:
        """Start to accept."""
        taken.setblocking(False)
        self._task = asyncio.get_running_loop().create_task(self._accept(taken))

    def close(self) -> None:
        """Stop accepting."""
        if self._task is not None:
            self._task.cancel()

    async def wait_closed(self) -> None:
        """Wait until accepting has stopped."""
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task

    async def _accept(self, taken: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, where = await loop.sock_accept(taken)
            except OSError:  # it went while it waited, or there is no descriptor
                await self._clock.sleep(PAUSE_S)
                continue
            handshake = Handshake(
                accepted, str(where[0]), loop.time() + self._connections.limits.head_s
            )
            if not self._connections.admit(handshake):
                accepted.close()
                continue
            task = loop.create_task(self._shake(handshake))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    async def _shake(self, handshake: "Handshake") -> None:
        loop, protocol = asyncio.get_running_loop(), self._made()
        protocol.handshake = handshake
        try:
            _ = await loop.connect_accepted_socket(  # from now on the protocol knows its transport
                lambda: protocol, handshake.socket, ssl=self._context
            )
        except (OSError, EOFError):  # ssl.SSLError is one: no TLS, or none that we know
            handshake.socket.close()
        finally:
            self._connections.forget(handshake)


class Handshake:
    """A connection during its handshake."""

    def __init__(self, accepted: socket.socket, address: str, until_s: float) -> None:
        self.socket = accepted
        self.address = address
        self._until_s = until_s

    def overdue(self, now_s: float) -> str:
        """Say whether the handshake takes too long."""
        return "no TLS handshake" if now_s > self._until_s else ""

    def end(self) -> None:
        """Close it."""
        self.drop()

    def drop(self) -> None:
        """Close it; the handshake then fails and releases the rest."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
