"""The server as its operator sees it: settings and where they come from, the store, and what is
wrong."""

import asyncio
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from postroad.api.finding import Finding
from postroad.api.machine_checks import (
    check_certificate,
    check_disk,
    check_listen,
    check_login_file,
    check_sqlite,
)
from postroad.api.request import Request
from postroad.api.road_checks import (
    DEAD_MAX,
    HOUR_MS,
    check_circuits,
    check_dead,
    check_tokens,
    check_workers,
)
from postroad.api.routes import dead, figures, queues, stats, tokens
from postroad.api.routing import fetch
from postroad.api.shown_settings import value_of
from postroad.config import names, unknown
from postroad.model.errors import Forbidden
from postroad.model.facts import StoreFacts
from postroad.model.tokens import Scope
from postroad.stores.naming import file_of, shown
from postroad.version import VERSION

COUNTED: Final = 1_000
"""Messages of a state, and dead ones, are counted so far: for a finding that is many."""
LANES: Final = 10
"""Maximum lanes in trouble that are listed: a finding names three."""
PROGRAM: Final = "program"
"""The source of settings that a program has given in Python."""


class SettingView(Struct, frozen=True):
    """A setting, without secrets, and where its value comes from: default, a file by its name,
    environment, flag, or program."""

    name: str
    value: Any
    source: str


class StoreView(Struct, frozen=True):
    """Where messages are."""

    address: str
    facts: StoreFacts
    oldest_due_ms: int | None
    """Since when the first message of the tenant is due that nothing holds back."""


class System(Struct, frozen=True):
    """What answers here, how it is set, and what `postroad doctor` finds."""

    version: str
    pid: int
    store: StoreView
    settings: tuple[SettingView, ...]
    findings: tuple[Finding, ...]


@fetch("/v1/system", scope=Scope.admin)
async def system(request: Request) -> System:
    """Show the settings of the server with their sources, its store, and what is wrong with them.
    All tenants share it: a tenant's token is refused."""
    if not request.who.every_tenant:
        raise Forbidden("the server is for all tenants: this needs a token of every tenant")
    here = request.context
    said = msgspec.to_builtins(await stats.stats.handler(request, most=COUNTED))
    found = [*await asyncio.to_thread(_machine, request), *await _road(request, said)]
    address = shown(here.road.dsn)
    store = StoreView(address, await here.road.store.store_facts(), said["oldest_due_ms"])
    return System(VERSION, os.getpid(), store, _settings(request), tuple(found))


def _settings(request: Request) -> tuple[SettingView, ...]:
    here = request.context
    sources = here.sources
    return tuple(
        SettingView(name, value_of(here.settings, name), sources.get(name, PROGRAM))
        for name in names()
    )


def _machine(request: Request) -> list[Finding]:
    """Check what the process has beside the road."""
    settings, road = request.context.settings, request.road
    unread = unknown(os.environ).items()
    found = [
        Finding("environment", "warn", f"{name} is not a setting", why) for name, why in unread
    ]
    found += [check_listen(settings), check_sqlite(), *check_login_file(settings)]
    found += check_certificate(settings, road.store.clock.now_ms())
    path = file_of(road.dsn)
    return [*found, check_disk(path)] if path is not None else found


async def _road(request: Request, said: dict[str, Any]) -> list[Finding]:
    """Check what the road says of itself."""
    now_ms = said["now_ms"]
    since = datetime.fromtimestamp((now_ms - HOUR_MS) / 1000, UTC)
    which = dead.DeadQuery(since=since)
    lanes = await queues.lanes.handler(request, limit=LANES, trouble=True, most=1)
    page = await dead.dead_list.handler(request, which, limit=DEAD_MAX)
    workers = await figures.workers.handler(request)
    told: Callable[[Any], Any] = msgspec.to_builtins
    return [
        check_workers(told(workers), said),
        check_circuits(told(lanes)["lanes"], said, COUNTED),
        check_dead(said, len(page.messages), more=bool(page.after), most=COUNTED),
        check_tokens(told(await tokens.token_list.handler(request)), now_ms),
    ]


ROUTES: Final = (system,)
