"""A TCP proxy in a thread of its own, that can be told to misbehave."""

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable
from typing import Self
from urllib.parse import urlsplit, urlunsplit

READY_FOR_QUERY = re.compile(rb"Z\x00\x00\x00\x05[ITE]\Z")


def postgres_answered(answer: bytes) -> bool:
    """PostgreSQL has answered in full: it is ready for the next query."""
    return READY_FOR_QUERY.search(answer) is not None


class _Trap:
    """Waits for a request that contains `marker`, then for its whole answer."""

    def __init__(self, marker: bytes, answered: Callable[[bytes], bool]) -> None:
        self.marker, self.answered = marker, answered
        self.sprung = threading.Event()


class _Link:
    """One client's connection through the proxy."""

    def __init__(
        self, proxy: "Proxy", client: asyncio.StreamWriter, server: asyncio.StreamWriter
    ) -> None:
        self.proxy, self.client, self.server = proxy, client, server
        self.tail = b""
        self.trap: _Trap | None = None
        self.answer = b""

    async def to_server(self, source: asyncio.StreamReader) -> None:
        while data := await source.read(65536):
            await self.proxy.open.wait()
            self._look_for_marker(data)
            self.server.write(data)
            await self.server.drain()

    async def to_client(self, source: asyncio.StreamReader) -> None:
        while data := await source.read(65536):
            await self.proxy.open.wait()
            if self.trap is None:
                self.client.write(data)
                await self.client.drain()
                continue
            self.answer += data
            if self.trap.answered(self.answer):
                self.cut()
                self.trap.sprung.set()

    def cut(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()

    def _look_for_marker(self, data: bytes) -> None:
        waiting = self.proxy.trap
        if waiting is None:
            self.tail = b""
            return
        seen = self.tail + data
        if waiting.marker in seen:
            self.trap, self.proxy.trap = waiting, None
        self.tail = seen[-len(waiting.marker) + 1 :] if len(waiting.marker) > 1 else b""


class Proxy:
    """`with Proxy(pg.dsn()) as proxy: connect(proxy.dsn())`; call its verbs from any thread."""

    def __init__(self, server_dsn: str) -> None:
        self._parts = urlsplit(server_dsn)
        self.port = 0
        self.trap: _Trap | None = None
        self.open = asyncio.Event()
        self._down = False
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._listener: asyncio.Server | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def dsn(self) -> str:
        """The server's dsn, by way of the proxy."""
        login = f"{self._parts.username}:{self._parts.password}@" if self._parts.username else ""
        return urlunsplit(self._parts._replace(netloc=f"{login}127.0.0.1:{self.port}"))

    def start(self) -> None:
        """Listen on a free port."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(60)

    def stop(self) -> None:
        """Cut everything and end the thread."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def cut(self) -> None:
        """Reset every connection now; new ones are accepted."""
        self._call(self._cut)

    def down(self) -> None:
        """Reset every connection, and each new one as soon as it is made."""
        self._call(self._go_down)

    def up(self) -> None:
        """Serve new connections again."""
        self._down = False

    def hold(self) -> None:
        """Pass no more bytes in either direction; connections stay open."""
        self._call(self.open.clear)

    def release(self) -> None:
        """Pass bytes again, those that were held first."""
        self._call(self.open.set)

    def cut_after_next(
        self, marker: bytes, answered: Callable[[bytes], bool] = postgres_answered
    ) -> threading.Event:
        """Let the next request with `marker` be done, but reset its connection before the answer.

        An ambiguous commit. The marker is looked for in raw bytes: b"COMMIT" finds an explicit
        commit, a word of the body finds a prepared statement by its arguments. The event is set
        when the connection has been cut.
        """
        trap = _Trap(marker, answered)

        def arm() -> None:
            self.trap = trap

        self._call(arm)
        return trap.sprung

    def _call(self, verb: Callable[[], None]) -> None:
        async def on_loop() -> None:
            verb()

        asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result(60)

    def _go_down(self) -> None:
        self._down = True
        self._cut()

    def _cut(self) -> None:
        for link in self._links:
            link.cut()

    async def _listen(self) -> None:
        self.open.set()
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        assert self._listener is not None
        self._listener.close()
        self._cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._join(reader, client)
        except asyncio.CancelledError:
            pass  # stop(); a cancelled handler would be reported by asyncio as an error
        finally:
            client.close()
            self._tasks.discard(task)

    async def _join(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if self._down:
            return
        try:
            answers, server = await asyncio.open_connection(
                self._parts.hostname, self._parts.port or 5432
            )
        except OSError:
            return  # the server is down: the client sees its connection closed
        link = _Link(self, client, server)
        self._links.add(link)
        ways = [
            asyncio.ensure_future(link.to_server(reader)),
            asyncio.ensure_future(link.to_client(answers)),
        ]
        try:
            # Either side's end ends both: nothing here needs half-closed connections.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for way in ways:
                with contextlib.suppress(OSError, asyncio.CancelledError):
                    await way
            self._links.discard(link)
            server.close()
