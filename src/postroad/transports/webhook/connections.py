"""Connections to one address of a server: HTTP/1.1, one request at a time on each, kept while they
are used. A request is one await in the caller's loop: a client with threads of its own passed the
interpreter's lock back and forth for each (decision 034)."""

import asyncio
import resource
import ssl
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from functools import cache
from socket import AI_NUMERICHOST
from types import MappingProxyType
from typing import Final, Protocol, cast

from msgspec import Struct

from postroad.model.access import ClientTls
from postroad.model.egress import EgressProxy
from postroad.model.errors import BadInput, Shortage
from postroad.transports.webhook.faults import Fault, reason_of, tls_fault
from postroad.transports.webhook.reading import ANSWER_BYTES_MAX, BadAnswer, Reader
from postroad.transports.webhook.resolving import check_descriptors
from postroad.transports.webhook.target import Target
from postroad.transports.webhook.tunnel import open_tunnel

IDLE_S: Final = 4.0
"""Many servers close an idle connection after 5 s; sent at that moment a request is in doubt."""
IDLE_SHARE: Final = 4
IDLE_MAX: Final = 4_096
"""Idle ones have so large a part of the process's file descriptors, and no more than this."""
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class HttpAnswer(Struct, frozen=True):
    """A server's answer. Its status stands, even if the body breaks off."""

    status: int
    body: bytes
    """The beginning of it."""
    at_s: float
    """When its status came, in the loop's time."""
    connect_ms: int = 0
    """How long making its connection took; 0 when one was there."""
    headers: Mapping[str, str] = NO_HEADERS
    """Names in lower case; of a success none."""
    broken: bool = False
    """The body did not come to its end."""


class Connection(asyncio.Protocol):
    """One connection. It carries one request at a time."""

    def __init__(self, idle: "Callable[[Connection], None]", gone: "Callable[[Connection], None]"):
        self.idle_s = 0.0
        self.connect_ms = 0
        """For its first request: how long making it took."""
        self._idle, self._gone = idle, gone
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[HttpAnswer] | None = None
        self._head_s = 0.0
        self._until_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is made, with its TLS handshake."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        # Not before: one that is refused is never told that it is lost, and reader and parser
        # hold each other: the collector had to find ten objects for each (decision 045).
        self._reader = Reader()

    @property
    def usable(self) -> bool:
        """Whether a request can be sent on it."""
        return not self._transport.is_closing()

    def ask(self, request: bytes, until_s: float, most: int) -> "asyncio.Future[HttpAnswer]":
        """Send a request. The future gets the answer by `until_s` (in the loop's time), or a
        Fault."""
        self._waiting = waiting = self._loop.create_future()
        self._until_s, self._head_s = until_s, 0.0
        self._reader.begin(most)
        # One timer for many requests: it looks again when it fires too early.
        if self._timer is None or until_s < self._timer.when():
            self._arm()
        self._transport.write(request)
        return waiting

    def close(self) -> None:
        """Close the connection at once."""
        if self._timer is not None:
            self._timer.cancel()
        self._waiting = None
        self._transport.abort()

    # What the loop tells

    def data_received(self, data: bytes) -> None:
        """Read a piece of an answer, mostly a whole one."""
        if self._waiting is None:
            self.close()  # nobody asked
            return
        reader = self._reader
        try:
            whole = reader.read(data)
        except BadAnswer as error:
            self._fail(Fault(error.fault, str(error), sent=True))
            return
        if reader.status and not self._head_s:
            self._head_s = self._loop.time()
        if whole:
            self._end()

    def eof_received(self) -> None:
        """The server has closed its side."""
        if self._waiting is not None and self._reader.ends():
            self._end()
        else:
            self._fail(Fault("closed", sent=True))

    def connection_lost(self, error: Exception | None) -> None:
        """The connection ended."""
        self._gone(self)
        if isinstance(error, ssl.SSLError):
            self._fail(tls_fault(error))
        elif error is None:
            self._fail(Fault("closed", sent=True))
        else:
            self._fail(Fault("reset", sent=True))
        self._reader.close()

    # What it means

    def _end(self, *, broken: bool = False) -> None:
        waiting, self._waiting = self._waiting, None
        reader = self._reader
        headers = reader.headers if reader.status >= 300 else NO_HEADERS
        times = (self._head_s, self.connect_ms)
        self.connect_ms = 0
        answer = HttpAnswer(reader.status, bytes(reader.body), *times, headers, broken)
        # A server may answer before it has read all: the rest would be in the next one's way.
        if reader.reusable and not broken and not self._transport.get_write_buffer_size():
            self.idle_s = answer.at_s
            self._idle(self)
        else:
            self.close()
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def _fail(self, fault: Fault) -> None:
        """End the request with a fault; a status that has arrived stands."""
        if self._waiting is not None and self._reader.status:
            self._end(broken=True)
            return
        waiting, self._waiting = self._waiting, None
        self.close()
        if waiting is not None and not waiting.done():
            waiting.set_exception(fault)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._until_s, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self._loop.time() >= self._until_s:
            self._fail(Fault("timeout", sent=True))
        else:
            self._arm()


class Closes(Protocol):
    """A connection of any kind that can be closed at once."""

    def close(self) -> None:
        """Close it."""


class IdleConnections:
    """Idle connections to all servers, of webhooks and of mail. Each uses a file descriptor; a
    process often has 1,024, of which 512 may be used by sends in flight."""

    def __init__(self) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = soft != resource.RLIM_INFINITY and soft < IDLE_SHARE * IDLE_MAX
        self._most = soft // IDLE_SHARE if few else IDLE_MAX
        self._all: OrderedDict[Closes, None] = OrderedDict()

    def add(self, connection: Closes) -> None:
        """Add a connection. If that is one too many, the one that was idle longest is closed."""
        self._all[connection] = None
        if len(self._all) > self._most:
            self._all.popitem(last=False)[0].close()

    def remove(self, connection: Closes) -> None:
        """The connection is used again, or closed."""
        self._all.pop(connection, None)

    def close(self) -> None:
        """Close all of them."""
        while self._all:
            self._all.popitem()[0].close()


class ConnectionPool:
    """The connections to one vetted address. They cannot reach any other."""

    def __init__(
        self,
        target: Target,
        address: str,
        all_idle: IdleConnections,
        tls: ClientTls | None = None,
        proxy: EgressProxy | None = None,
    ) -> None:
        self._target = target
        self._proxy = proxy
        self._own_tls = tls
        self._context: ssl.SSLContext | None = None
        self._address = address
        self._all_idle = all_idle
        self._idle: deque[Connection] = deque()
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    async def call(
        self, request: bytes, connect_s: float, until_s: float, most: int = ANSWER_BYTES_MAX
    ) -> HttpAnswer:
        """Send one request and read up to `most` bytes of the answer's body. Raises Fault when no
        answer comes by `until_s`, in the loop's time."""
        connection = self._take() or await self._connect(connect_s)
        try:
            return await connection.ask(request, until_s, most)
        except asyncio.CancelledError:
            connection.close()
            raise

    async def prepare(self, connect_s: float) -> None:
        """Have an idle connection ready, until somebody else takes it."""
        connection = self._take() or await self._connect(connect_s)
        connection.idle_s, connection.connect_ms = self._loop.time(), 0
        self._put(connection)

    def _take(self) -> Connection | None:
        """Take the idle connection that was used last, if there is one."""
        while self._idle:
            connection = self._idle.pop()
            self._all_idle.remove(connection)
            if connection.usable and self._loop.time() - connection.idle_s < IDLE_S:
                return connection
            connection.close()
        return None

    async def _connect(self, limit_s: float) -> Connection:
        """Make a connection. Raises Fault if that fails; nothing was sent then."""
        target, tls = self._target, None
        began_s = self._loop.time()
        try:
            async with asyncio.timeout(limit_s):
                if target.scheme == "https":
                    tls = await self._trusted()
                if self._proxy is not None:
                    connection = await self._connect_through(self._proxy, tls)
                else:  # to an address: nobody is asked where a name is, so nobody can lie about it
                    _, connection = await self._loop.create_connection(
                        lambda: Connection(self._put, self._gone),
                        self._address,
                        target.port,
                        ssl=tls,
                        server_hostname=target.host if tls else None,
                        flags=AI_NUMERICHOST,
                    )
        except (OSError, ssl.CertificateError) as error:
            if lacks := Shortage.of(error):
                self._all_idle.close()
                raise lacks from None
            raise Fault(*reason_of(error), sent=False) from None
        connection.connect_ms = max(1, int((self._loop.time() - began_s) * 1000))
        return connection

    async def _connect_through(self, proxy: EgressProxy, tls: ssl.SSLContext | None) -> Connection:
        """Make a connection in a tunnel."""
        transport = await open_tunnel(proxy, self._target)
        connection = Connection(self._put, self._gone)
        secured: asyncio.Transport | None = transport
        try:
            if tls is None:
                transport.set_protocol(connection)
            else:
                host = self._target.host
                secured = await self._loop.start_tls(
                    transport, connection, tls, server_hostname=host
                )
            connection.connection_made(cast("asyncio.Transport", secured))
        except BaseException:
            transport.abort()
            raise
        return connection

    async def _trusted(self) -> ssl.SSLContext:
        """The system's certificates, or what this endpoint's owner set."""
        if self._own_tls is None:
            return trust() if trust.cache_info().currsize else await asyncio.to_thread(trust)
        from postroad.transports.webhook.client_tls import (
            tls_context,
        )  # loads much

        try:
            if self._context is None:
                self._context = await asyncio.to_thread(tls_context, self._own_tls)
        except BadInput as error:
            raise Fault("certificate", str(error), sent=False) from None
        return self._context

    def close(self) -> None:
        """Close idle connections now, and those in use when their answer has come."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        while self._idle:
            connection = self._idle.pop()
            self._all_idle.remove(connection)
            connection.close()

    def _put(self, connection: Connection) -> None:
        if self._closed:
            connection.close()
            return
        self._idle.append(connection)
        self._all_idle.add(connection)
        if self._timer is None:
            self._timer = self._loop.call_later(IDLE_S, self._sweep)

    def _gone(self, connection: Connection) -> None:
        self._all_idle.remove(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _sweep(self) -> None:
        """Close connections that were idle too long."""
        before_s = self._loop.time() - IDLE_S
        while self._idle and self._idle[0].idle_s <= before_s:
            self._idle.popleft().close()
        self._timer = self._loop.call_later(IDLE_S, self._sweep) if self._idle else None


@cache
def trust() -> ssl.SSLContext:
    """Load the system's certificates once, which takes 20 ms. SSL_CERT_FILE and SSL_CERT_DIR name
    others."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:
        check_descriptors()  # without one none is read, and nobody would be trusted for ever
    context.set_alpn_protocols(["http/1.1"])
    return context
