"""Accepts TLS connections to a hub. They are counted when they connect and served after the
handshake: the loop's own TLS server reports a connection only then, and slow handshakes could not
be counted."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Final

from postroad.hub.connection_limits import HubConnectionLimits
from postroad.ports.clock import Clock

REST_S: Final = 1.0
"""How long nobody is let in after that has failed: no file descriptor is left, as a rule."""
BACKLOG: Final = 256
"""How many connections may wait before anybody can count them: see KEPT_BACK."""

MakeProtocol = Callable[[str], asyncio.Protocol]
"""Who serves a connection of this network, which has been counted."""


class TlsListener:
    """Listens, and makes TLS handshakes."""

    def __init__(
        self,
        connection_limits: HubConnectionLimits,
        clock: Clock,
        tls: ssl.SSLContext,
        limit_s: float,
        make_protocol: MakeProtocol,
    ) -> None:
        self._connection_limits = connection_limits
        self._clock = clock
        self._tls = tls
        self._limit_s = limit_s
        self._make_protocol = make_protocol
        self._listeners: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen, and return the IP address and the port."""
        loop = asyncio.get_running_loop()
        kind, passive = socket.SOCK_STREAM, socket.AI_PASSIVE
        found = await loop.getaddrinfo(host, port, type=kind, flags=passive)
        try:
            for family, address in dict.fromkeys((each[0], each[4]) for each in found):
                where = (address[0], port)
                self._listeners.append(socket.create_server(where, family=family, backlog=BACKLOG))
                port = self._listeners[-1].getsockname()[1]
        except OSError:
            self.close()
            raise
        for listener in self._listeners:
            listener.setblocking(False)
            self._spawn(self._accept(listener))
        name: str = self._listeners[0].getsockname()[0]
        return name, port

    def close(self) -> None:
        """Accept no more connections."""
        for task in self._tasks:
            task.cancel()
        for listener in self._listeners:
            listener.close()
        self._listeners = []

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name="postroad hub tls listener")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                came, peer = await loop.sock_accept(listener)
            except OSError:
                await self._clock.sleep(REST_S)
                continue
            name = self._connection_limits.source(peer[0])
            if self._connection_limits.enter(name):
                self._connection_limits.leave(name)
                came.close()
            else:
                self._spawn(self._shake_hands(came, name))

    async def _shake_hands(self, came: socket.socket, name: str) -> None:
        loop, limit_s = asyncio.get_running_loop(), self._limit_s
        try:
            # The connection is the protocol's from now on.
            _ = await loop.connect_accepted_socket(
                lambda: self._make_protocol(name),
                came,
                ssl=self._tls,
                ssl_handshake_timeout=limit_s,
            )
        except (OSError, asyncio.CancelledError):  # a fault of TLS and a timeout are OSErrors
            came.close()
            self._connection_limits.leave(name)
