"""A process that runs until stopped: road, API, worker and hub, as far as they are asked for."""

import gc
import importlib
import logging
import os
import sys
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Final

from msgspec import structs

from postroad.api.serving import ApiServer
from postroad.app import Postroad
from postroad.cli.command import ServerInvocation
from postroad.cli.first_token import make_first_token
from postroad.cli.printing import SafeConsole, out, styled
from postroad.config import Settings, address, unknown
from postroad.engine.runners import StopSummary
from postroad.hub.access import hub_tokens, new_token
from postroad.hub.serving import HubService, ListenOptions
from postroad.model.errors import BadInput, HubInUse
from postroad.observe.log import has_handlers
from postroad.observe.relay import relayed
from postroad.observe.watchdog import end_when_stuck
from postroad.ports import loop
from postroad.ports.mailboxes import Mailboxes
from postroad.ports.tls import certificate, pinned_tls, server_tls
from postroad.stores.naming import make_folder, shown
from postroad.transports.named_hubs import OwnHub
from postroad.verbs.sealing import require_keys
from postroad.version import VERSION

ANY_PORT: Final = "127.0.0.1:0"
MIDDLE_AFTER: Final = 3
"""So many runs of the collector through what is young go before one through what is not quite
(usual: 10): as much is looked through, but a third at a time. It was up to 5 ms."""
FULL_AFTER: Final = 334
"""So many of those go before a full one (usual: 10). With thousands of new lanes one came every
1.3 s, and held up the loop for 30 to 50 ms (decision 045)."""


def serve(
    call: ServerInvocation, app: str, *, api: bool, delivers: bool, hub: bool = False
) -> None:
    """Run until stopped."""
    loaded = call.loaded()
    settings = loaded.settings
    if hub and not settings.hub_token:
        settings = structs.replace(settings, hub_token=new_token())  # our own engine's
    if not api and not loaded.given("listen"):  # that of a file, which they share, is the API's
        settings = structs.replace(settings, listen=ANY_PORT)
    theirs = load_road(app) if app else None
    named = theirs is not None and theirs.dsn != Settings().dsn
    if theirs is not None and named and not loaded.chosen("dsn"):
        settings = structs.replace(settings, dsn=theirs.dsn)
    make_folder(settings.dsn)
    road = _road(settings, theirs)
    if unread := unknown(os.environ):
        told = ", ".join(f"{name}: {hint}" for name, hint in unread.items())
        road.log.warning("environment variables that are not settings", variables=told)
    station = None
    if hub and (isinstance(road.store, Mailboxes) or not delivers):
        station = _station(road, settings, any_port=not loaded.chosen("hub_listen"))
    server = _server(road, settings, station, delivers=delivers)
    # What is loaded by now stays: else each full collection looks through it, 45 ms of the loop.
    gc.freeze()
    gc.set_threshold(gc.get_threshold()[0], MIDDLE_AFTER, FULL_AFTER)
    # A program that has handlers gets what libraries log by itself.
    relay = nullcontext() if has_handlers(logging.getLogger()) else relayed(road.log)
    with closing(server), relay:
        loop.run(_until_stopped(server, station, api=api))


def _road(settings: Settings, theirs: Postroad | None) -> Postroad:
    extra = theirs.extra_transports if theirs else ()
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
    where = ListenOptions(host, port, own, any_port=any_port, tls=tls)
    return HubService(road.store, road.store.clock, road.log, where)


def _server(
    road: Postroad, settings: Settings, station: HubService | None, *, delivers: bool
) -> ApiServer:
    if not settings.dsn.startswith("sqlite:"):  # which has keys of its own
        require_keys(road.keys)
    return ApiServer(road, settings, delivers=delivers, station=station)


async def _until_stopped(server: ApiServer, station: HubService | None, *, api: bool) -> None:
    async with server.road as road:  # first: whose road is in use has its port taken as well
        _ = server.bind()  # the server keeps it
        said = out()
        said.print(styled((f"Postroad {VERSION}", "bold"), f" on {shown(road.dsn)}"))
        if api:
            await make_first_token(road, said)
        role = " and ".join(["the API"] * api + ["a worker"] * server.context.delivers) or "a hub"
        if station is not None:
            station = server.station = await _lead(station, said, alone=role == "a hub")
        if station is not None:
            _send_to_own(road, station)

        def started() -> None:
            if station is not None:
                said.print(f"The hub at {station.url}")
            said.print(f"{role[0].upper()}{role[1:]} at {server.url}; Ctrl+C stops")

        try:
            settings = road.settings
            watch = end_when_stuck(settings.watchdog_s, road.log, settings.log_format)
            await server.run(started, watch)
        finally:
            if station is not None:
                await station.stop()
    with suppress(BrokenPipeError):  # who read the output is gone
        took_s = server.road.store.clock.steady_s() - server.stopped_at_s
        said.print(f"Stopped in {took_s:.1f} s: {in_hand(server.road.stopped)}")


def in_hand(ended: StopSummary | None) -> str:
    """What became of the tries that were in flight at a stop, in words."""
    if ended is None or not ended.in_hand:
        return "nothing was in hand"
    became = f"{ended.cut} of them given back uncounted" if ended.cut else "all finished"
    return f"{ended.in_hand} in hand, {became}"


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
