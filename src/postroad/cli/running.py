"""A process that runs until stopped: road, API, worker and hub, as far as they are asked for."""

import gc
import importlib
import logging
import os
import sys
from contextlib import closing, nullcontext, suppress
from io import StringIO
from pathlib import Path
from typing import Final

from msgspec import Struct, structs

from postroad.api.serving import ApiServer
from postroad.app import Postroad
from postroad.cli.command import ServerInvocation
from postroad.cli.first_token import make_first_token
from postroad.cli.printing import SafeConsole, out, styled
from postroad.cli.supervised import SupervisedProcess
from postroad.cli.supervisor import ProcessSupervisor
from postroad.config import Settings, address, unknown
from postroad.dashboard.front import Front
from postroad.engine.runners import StopSummary
from postroad.hub.access import hub_tokens, new_token
from postroad.hub.serving import HubService, ListenOptions
from postroad.model.errors import BadInput, HubInUse
from postroad.model.python_only import adopt_fields
from postroad.observe.log import has_handlers, make_log
from postroad.observe.relay import relayed
from postroad.observe.tasks import Tasks
from postroad.observe.watchdog import end_when_stuck
from postroad.ports import loop
from postroad.ports.clock import SystemClock
from postroad.ports.cores import cores
from postroad.ports.mailboxes import Mailboxes
from postroad.ports.tls import certificate, pinned_tls, server_tls
from postroad.stores.naming import make_folder, shown
from postroad.stores.rabbitmq.options import read_options
from postroad.transports.named_hubs import OwnHub
from postroad.verbs.restoring import check_released
from postroad.verbs.sealing import check_keys, require_keys
from postroad.version import VERSION

ANY_PORT: Final = "127.0.0.1:0"
MIDDLE_AFTER: Final = 3
"""How many collections of young objects come before one of the middle generation (usual: 10): as
much is searched, but a third at a time. It took up to 5 ms."""
FULL_AFTER: Final = 334
"""How many of those come before a full collection (usual: 10). With thousands of new lanes one came
every 1.3 s, and held up the loop for 30 to 50 ms (decision 045)."""


class ServerRole(Struct, frozen=True):
    """What a process does."""

    api: bool = False
    delivers: bool = False
    hub: bool = False
    beside_hub: bool = False
    """The process that serves the hub sends to it."""
    processes: int | None = None
    """How many deliver; None: one, or on PostgreSQL one for each core."""

    @property
    def text(self) -> str:
        """In words."""
        return " and ".join(["the API"] * self.api + ["a worker"] * self.delivers) or "a hub"


def serve(call: ServerInvocation, app: str, role: ServerRole) -> None:
    """Run until stopped."""
    above = SupervisedProcess.found()
    loaded = call.loaded()
    settings = loaded.settings
    if above is not None and above.number:  # the first one has the port and the hub
        settings = structs.replace(settings, listen=ANY_PORT)
        role = ServerRole(delivers=True, beside_hub=role.hub)
    if role.hub and not settings.hub_token:
        settings = structs.replace(settings, hub_token=new_token())  # our own engine's
    if not role.api and not loaded.given("listen"):  # in a file it is the API's
        settings = structs.replace(settings, listen=ANY_PORT)
    theirs = load_road(app) if app else None
    named = theirs is not None and theirs.dsn != Settings().dsn
    if theirs is not None and named and not loaded.chosen("dsn"):
        settings = structs.replace(settings, dsn=theirs.dsn)
    count = process_count(settings.dsn, role) if above is None else 1
    if count > 1:
        sys.exit(loop.run(_supervised(count, settings)))
    make_folder(settings.dsn)
    road = _road(settings, theirs)
    road.hubs.claims = not role.beside_hub
    if unread := unknown(os.environ):
        told = ", ".join(f"{name}: {hint}" for name, hint in unread.items())
        road.log.warning("environment variables that are not settings", variables=told)
    station = None
    if role.hub and (isinstance(road.store, Mailboxes) or not role.delivers):
        station = _station(road, settings, any_port=not loaded.chosen("hub_listen"))
    server = _server(road, settings, station, role)
    server.context.sources = loaded.sources
    calm_collector()
    # A program that has handlers gets what libraries log by itself.
    relay = nullcontext() if has_handlers(logging.getLogger()) else relayed(road.log)
    with closing(server), relay:
        loop.run(_until_stopped(server, station, role, above))


def calm_collector() -> None:
    """Let Python's collector look through little at a time. What is loaded by now stays: else each
    full collection looks through it, 45 ms of the loop."""
    gc.freeze()
    gc.set_threshold(gc.get_threshold()[0], MIDDLE_AFTER, FULL_AFTER)


def process_count(dsn: str, role: ServerRole) -> int:
    """How many processes deliver."""
    if not role.delivers:
        return 1
    state = read_options(dsn).state if dsn.startswith(("amqp://", "amqps://")) else dsn
    if not state.startswith("sqlite:"):
        one_each = dsn.startswith(("postgresql:", "postgres:")) and role.processes is None
        return cores() if one_each else role.processes or 1
    if (role.processes or 1) > 1:
        raise BadInput(
            "--processes: a SQLite file has one process. Mark handlers that compute with "
            "process=True, which are called in child processes, or use PostgreSQL"
        )
    return 1


async def _supervised(count: int, settings: Settings) -> int:
    clock = SystemClock()
    log = make_log(settings.log_level, form=settings.log_format, clock=clock)
    drain_s = settings.limits.drain_s
    return await ProcessSupervisor(own_command(), count, drain_s, log, clock).run()


def own_command() -> list[str]:
    """How this program was started: as `postroad`, or by another one, as manage.py."""
    if Path(sys.argv[0]).name in ("postroad", "__main__.py"):
        return [sys.executable, "-P", "-m", "postroad", *sys.argv[1:]]
    return [sys.executable, *sys.argv]


def _road(settings: Settings, theirs: Postroad | None) -> Postroad:
    extra = theirs.extra_transports if theirs else ()
    if theirs is not None:
        settings = adopt_fields(settings, theirs.settings)
    road = Postroad(settings.dsn, settings=settings, transports=extra)
    if theirs is not None:
        road.registry.adopt(theirs.registry)
    return road


def _station(road: Postroad, settings: Settings, *, any_port: bool) -> HubService:
    if not isinstance(road.store, Mailboxes):
        raise BadInput("this store keeps no mailboxes: a hub needs SQLite or PostgreSQL")
    host, port = address(settings.hub_listen, "hub_listen")
    own = hub_tokens(settings.hub_create_token, settings.hub_token)
    tls = server_tls(settings.tls_cert_file, settings.tls_key_file)
    where = ListenOptions(
        host,
        port,
        own,
        any_port=any_port,
        tls=tls,
        origins=settings.origins,
        proxies=settings.trusted_proxies,
    )
    return HubService(road.store, road.store.clock, road.log, where)


def _server(
    road: Postroad, settings: Settings, station: HubService | None, role: ServerRole
) -> ApiServer:
    if not settings.dsn.startswith("sqlite:"):  # which has keys of its own
        require_keys(road.keys)
    front = Front if role.api else None
    return ApiServer(road, settings, delivers=role.delivers, station=station, front=front)


async def _until_stopped(
    server: ApiServer,
    station: HubService | None,
    role: ServerRole,
    above: SupervisedProcess | None,
) -> None:
    async with server.road as road:  # first: whose road is in use has its port taken as well
        if role.delivers or role.hub:
            _ = await check_released(road.store)  # its run tells of a backup
        await check_keys(road.store, road.campaign_service.store, road.keys)
        _ = server.bind()  # the server keeps it
        quiet = above is not None and above.number > 0
        said = SafeConsole(StringIO()) if quiet else out()
        said.print(styled((f"Postroad {VERSION}", "bold"), f" on {shown(road.dsn)}"))
        if role.api:
            await make_first_token(road, said, server.url)
        if station is not None:
            station = server.station = await _lead(station, said, alone=role.text == "a hub")
        if station is not None:
            _send_to_own(road, station)
        line = Tasks(road.log)

        def started() -> None:
            if station is not None:
                said.print(f"The hub at {station.url}")
            text = role.text
            said.print(f"{text[0].upper()}{text[1:]} at {server.url}; Ctrl+C stops")
            if role.api:
                said.print("Pages are there too: `postroad login` makes a login link")
            if above is not None:
                server.context.others = above.others
                talk = above.serve(server, server.context.counts)
                _ = line.start(talk, "supervisor")  # it ends with the supervisor

        try:
            settings = road.settings
            watch = end_when_stuck(settings.watchdog_s, road.log, settings.log_format)
            await server.run(started, watch)
        finally:
            await line.close()
            if station is not None:
                await station.stop()
    with suppress(BrokenPipeError):  # who read the output is gone
        took_s = server.road.store.clock.steady_s() - server.stopped_at_s
        said.print(f"Stopped in {took_s:.1f} s: {in_hand(server.road.stopped)}")


def in_hand(ended: StopSummary | None) -> str:
    """What became of the tries that were in flight at a stop, in words."""
    if ended is None or not ended.in_hand:
        return "no tries were running"
    became = f"{ended.cut} of them given back uncounted" if ended.cut else "all finished"
    were = "1 try was" if ended.in_hand == 1 else f"{ended.in_hand} tries were"
    return f"{were} running, {became}"


async def _lead(station: HubService, said: SafeConsole, *, alone: bool) -> HubService | None:
    """Start the hub. In a fleet one process runs it; the others go on without."""
    try:
        await station.start()
    except HubInUse as error:
        if alone:
            raise
        said.print(f"No hub here: {error}")
        return None
    return station


def _send_to_own(road: Postroad, station: HubService) -> None:
    """Let the road send to the hub of this process."""
    settings = road.settings
    cert = certificate(settings.tls_cert_file)
    trusted = pinned_tls(cert) if cert else None
    own = OwnHub(station.url, station.address, settings.hub_token, trusted)
    road.hubs.serve(own, station.servers)


def load_road(name: str) -> Postroad:
    """Import the road of a program, named as MODULE:NAME."""
    module, mark, attribute = name.partition(":")
    if not mark or not module or not attribute:
        raise BadInput(f"--app {name}: give MODULE:ROAD, as in tasks:road")
    sys.path.insert(0, str(Path.cwd()))
    try:
        program = importlib.import_module(module)
    except ModuleNotFoundError as error:
        ours = error.name == module.partition(".")[0]
        how = "run it in the folder of your program" if ours else f"{module} needs it: install it"
        raise BadInput(f"--app {name}: {error}; {how}") from None
    found = getattr(program, attribute, None)
    if found is None:
        raise BadInput(f"--app {name}: there is no {attribute} in {module}")
    road = getattr(found, "postroad", found)  # the blocking face has the road inside
    if not isinstance(road, Postroad):
        raise BadInput(f"--app {name}: {attribute} is no Postroad")
    return road
