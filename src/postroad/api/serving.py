"""A server: one road, its routes on a port, and where asked its engine, until told to stop."""

import asyncio
import errno
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import Final

import uvicorn

from postroad.api.app import Application
from postroad.api.connections import ApiConnections, ConnectionLimits
from postroad.api.context import Context
from postroad.api.in_process import ASGI
from postroad.api.listening import StrictProtocol
from postroad.api.port_owner import port_owner
from postroad.api.request_metrics import RequestMetrics
from postroad.api.tls_server import TlsServer
from postroad.api.uploads import sweep_uploads
from postroad.api.window import WindowHttp
from postroad.app import Postroad
from postroad.config import Settings, address
from postroad.hub.serving import HubService
from postroad.model.errors import BadSetting, CannotListen, PostroadError
from postroad.model.networks import Proxies
from postroad.observe.tasks import HasTasks
from postroad.ports.clock import Clock
from postroad.ports.tls import server_tls

BACKLOG: Final = 2_048
GRACE_S: Final = 10
CONNECTION_LIMITS: Final = ConnectionLimits()
KEEP_ALIVE_S: Final = 5


class ApiServer:
    """Serves the API of a road. With `delivers` its engine runs too, with `station` a hub; `front`
    makes what stands before the API: pages."""

    def __init__(
        self,
        road: Postroad,
        settings: Settings,
        *,
        delivers: bool,
        station: HubService | None = None,
        limits: ConnectionLimits = CONNECTION_LIMITS,
        front: Callable[[Application], ASGI] | None = None,
    ) -> None:
        self.road = road
        road.hears_signals = False  # the server handles them
        road.watchdog_s = 0.0
        self.context = Context(road, settings, road.log)
        self.context.delivers = delivers
        road.meter = self.context.meter
        self._app = Application(self.context)
        self._front = front(self._app) if front else self._app
        road.window.answer = WindowHttp(self._app)
        self._settings = settings
        self.station = station
        self._limits = limits
        self._socket: socket.socket | None = None
        self._web: uvicorn.Server | None = None
        self._ends: list[asyncio.Task[None]] = []
        self._broken: BaseException | None = None
        self.stopped_at_s = 0.0
        """When it was first told to stop, by the steady clock."""
        self._secure = server_tls(settings.tls_cert_file, settings.tls_key_file)

    @property
    def url(self) -> str:
        """The address of the server."""
        if self._socket is None:
            raise AssertionError("not bound yet")
        host, port = self._socket.getsockname()[:2]
        scheme = "https" if self._secure else "http"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    def bind(self) -> socket.socket:
        """Bind the port, or say why that fails."""
        host, port = address(self._settings.listen)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Named as TCP: only then asyncio sends small answers at once, not 40 ms later.
        taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((host, port))
        except (OSError, UnicodeError) as error:
            taken.close()
            nowhere = isinstance(error, UnicodeError | socket.gaierror)
            why = getattr(error, "strerror", "") or "that is no host"
            if getattr(error, "errno", 0) == errno.EADDRINUSE and (user := port_owner(port)):
                why += f" by {user}"
            raise (BadSetting if nowhere else CannotListen)(
                f"cannot listen on {self._settings.listen}: {why}; give another with "
                "--listen HOST:PORT"
            ) from None
        self._socket = taken
        return taken

    def close(self) -> None:
        """Close the port."""
        if self._socket is not None:
            self._socket.close()

    async def run(
        self, started: Callable[[], None], watch: AbstractContextManager[None] | None = None
    ) -> None:
        """Serve until stopped. The road is open; `started` is called when it listens, and `watch`
        is entered meanwhile."""
        web = self._web = self._make_web()
        await asyncio.to_thread(sweep_uploads, self.road.store.clock.now_ms())
        taken = self._socket or self.bind()
        taken.listen(web.config.backlog)
        self.context.url = self.url  # a reader of the log may connect at once
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        with watch or nullcontext():
            await self._tasks(web, taken, started)

    def _make_web(self) -> "Web":
        settings = self._settings
        proxies = Proxies(settings.trusted_proxies)
        connections = ApiConnections(self._limits, self.road.log, proxies.has)
        config = uvicorn.Config(
            RequestMetrics(self._front, self.context.meter, self.road.store.clock),
            http=StrictProtocol,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            # What waits to be accepted is accepted at one go, and has descriptors before it is
            # counted.
            backlog=min(BACKLOG, connections.most),
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
            ws="none",
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
        )
        return Web(config, connections, self._secure, self.road.store.clock)

    async def _tasks(self, web: "Web", taken: socket.socket, started: Callable[[], None]) -> None:
        async with named(), asyncio.TaskGroup() as group:
            group.create_task(self._web_until_stopped(web, taken))
            if self.context.delivers:
                group.create_task(self._deliver())
            elif isinstance(self.road.store, HasTasks):
                self.road.store.tasks.tell(self._broke)
            if self.station is not None:
                self.road.mailboxes.hub = self.station.hub
                watch = group.create_task(self._until_hub_ends(self.station))
                self._ends.append(watch)
            started()

        if self._broken is not None:
            raise self._broken

    def _broke(self, error: BaseException) -> None:
        """Stop the server with the error of a store's task that died."""
        self._broken = error
        self.stop()

    async def _web_until_stopped(self, web: "Web", taken: socket.socket) -> None:
        try:
            await web.serve([taken])
        finally:
            self.stop()

    async def _deliver(self) -> None:
        try:
            await self.road.run()
        finally:
            self.stop()  # an engine that broke takes the server with it

    async def _until_hub_ends(self, station: HubService) -> None:
        try:
            await station.ended()
            self.stop()  # another process is the hub now
        except asyncio.CancelledError:
            return

    def stop(self) -> None:
        """Take no more requests, finish those that are here, give lanes back."""
        if not self.context.stopping:
            self.stopped_at_s = self.road.store.clock.steady_s()
        self.context.stopping = True
        if self._web is not None:
            self._web.should_exit = True
        if self.context.delivers:
            self.road.stop()
        for watch in self._ends:
            watch.cancel()


@asynccontextmanager
async def named() -> AsyncIterator[None]:
    """Raise an error of ours that ended the server without the group that it comes in."""
    try:
        yield
    except BaseExceptionGroup as group:
        found = [each for each in group.exceptions if isinstance(each, PostroadError)]
        if found:
            raise found[0] from None
        raise


class Web(uvicorn.Server):
    """uvicorn with our own signal handlers and connection limits."""

    def __init__(
        self,
        config: uvicorn.Config,
        connections: ApiConnections,
        secure: ssl.SSLContext | None,
        clock: Clock,
    ) -> None:
        super().__init__(config)
        self._clock = clock
        self._connections = connections
        self._secure = secure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on one socket, which is bound."""
        taken = (sockets or [])[0]
        loop = asyncio.get_running_loop()
        if self._secure is None:
            backlog = self.config.backlog
            self.servers = [await loop.create_server(self._plain, sock=taken, backlog=backlog)]
        else:
            own = TlsServer(self._plain, self._connections, self._secure, self._clock)
            own.listen(taken)
            self.servers = [own]  # type: ignore[list-item]
        self.started = True

    def _plain(self) -> StrictProtocol:
        return StrictProtocol(
            self._connections,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals alone: the server has handlers of its own."""
        yield
