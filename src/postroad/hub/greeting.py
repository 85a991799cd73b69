"""Those who come to a hub with TLS: counted when they connect, and served after the handshake. The
loop's own TLS server tells of a connection only then, so that nobody could count slow ones."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Final

from postroad.hub.visitors import Visitors
from postroad.model.networks import network
from postroad.ports.clock import Clock

REST_S: Final = 1.0
"""How long nobody is let in after that has failed: no file descriptor is left, as a rule."""
BACKLOG: Final = 256
"""So many may be here before anybody can count them: see KEPT_BACK."""

Welcome = Callable[[str], asyncio.Protocol]
"""Who serves a connection of this network, which has been counted."""


class Greeter:
    """Listens, and makes TLS handshakes."""

    def __init__(
        self,
        visitors: Visitors,
        clock: Clock,
        tls: ssl.SSLContext,
        limit_s: float,
        welcome: Welcome,
    ) -> None:
        self._visitors = visitors
        self._clock = clock
        self._tls = tls
        self._limit_s = limit_s
        self._welcome = welcome
        self._listeners: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; answers where, as a number."""
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
        """Stop accepting connections."""
        for task in self._tasks:
            task.cancel()
        for listener in self._listeners:
            listener.close()
        self._listeners = []

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name="postroad hub greeter")
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
            name = network(peer[0])
            if self._visitors.enter(name):
                self._visitors.leave(name)
                came.close()
            else:
                self._spawn(self._greet(came, name))

    async def _greet(self, came: socket.socket, name: str) -> None:
        loop, limit_s = asyncio.get_running_loop(), self._limit_s
        try:
            # The connection is the protocol's from now on.
            _ = await loop.connect_accepted_socket(
                lambda: self._welcome(name), came, ssl=self._tls, ssl_handshake_timeout=limit_s
            )
        except (OSError, asyncio.CancelledError):  # a fault of TLS and a timeout are OSErrors
            came.close()
            self._visitors.leave(name)
