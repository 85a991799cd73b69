"""The checks of `postroad doctor`."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import structs

from postroad.api.finding import Finding
from postroad.api.machine_checks import (
    check_certificate,
    check_disk,
    check_listen,
    check_login_file,
    check_port,
    check_sqlite,
)
from postroad.cli.client import TIMEOUT_S, RequestRefused
from postroad.cli.command import Invocation
from postroad.cli.road_checks import check_road
from postroad.config import Settings, unknown
from postroad.model.broker import BrokerFacts
from postroad.model.errors import (
    BadKey,
    ForeignWindow,
    PostroadError,
    RoadInUse,
    SchemaTooOld,
    StoreUnavailable,
    UnsafeFile,
)
from postroad.model.ids import made_at_ms
from postroad.ports.broker import HasBroker
from postroad.ports.clock import SystemClock
from postroad.ports.store import Store
from postroad.remote.api_request import ApiRequest
from postroad.stores.naming import file_of, shown
from postroad.stores.opening import has_road, open_to_look
from postroad.stores.rabbitmq.options import read_options
from postroad.stores.sqlite.database import Database
from postroad.stores.window_socket import is_open
from postroad.verbs.campaign_service import campaign_store
from postroad.verbs.own_keys import own_keys
from postroad.verbs.sealing import check_keys, find_keys, key_ring

CLOCK_MS: Final = 5_000
BELL_S: Final = 5.0
LETTERS_MAX: Final = 1_000


def run_checks(call: Invocation) -> list[Finding]:
    """Run all checks."""
    found = [
        Finding("environment", "warn", f"{name} is not a setting", hint)
        for name, hint in unknown(os.environ).items()
    ]
    try:
        settings = call.loaded().settings
        if not call.server:
            _ = find_keys(settings.keys_file)  # whether they can be read
    except PostroadError as error:
        mend = "correct it, see `postroad config show`"
        return [*found, Finding("settings", "fail", str(error), mend)]
    found.append(Finding("settings", "ok", "all are valid"))
    if call.server:
        return [*found, *_named(call)]  # this machine has no part in that road
    found += [*check_certificate(settings, SystemClock().now_ms()), *check_login_file(settings)]
    found.append(check_sqlite())
    port = [check_listen(settings), check_port(settings)]
    path = file_of(settings.dsn)
    if path is not None:
        found.append(check_disk(path))
        if not path.exists() and settings.dsn.startswith("sqlite:///"):
            mend = "start one with `postroad up`, or name one with --dsn"
            return [*found, *port, Finding("store", "warn", f"there is no road at {path}", mend)]
        try:
            owned = is_open(settings.dsn, TIMEOUT_S)
        except (UnsafeFile, ForeignWindow) as error:
            return [*found, *port, Finding("server", "fail", str(error), "commands use none of it")]
        if owned:
            with suppress(PostroadError):  # it does not answer: look at its store
                local = Finding("notifications", "ok", "inside this process")
                ready = [*_served(call, settings), *_ready(call)]
                return [*found, *ready, local, *_asked(call)]
    found += [*port, *asyncio.run(_store(settings))]
    if any(each.part == "schema" and each.state == "ok" for each in found):
        found += _asked(call)
    return found


def _served(call: Invocation, settings: Settings) -> list[Finding]:
    """Check where the process that has the road open serves its API: a flag may have named another
    port than the settings do."""
    with call.connect() as road:
        url = road.ask("GET", "/v1/about").get("url", "")
    at = structs.replace(settings, listen=urlsplit(url).netloc) if url else settings
    return [check_listen(at), check_port(at)]


def _named(call: Invocation) -> list[Finding]:
    """Ask the server that is named."""
    try:
        return [*_ready(call), *_asked(call)]
    except PostroadError as error:
        mend = "is it running there? start it, or name another with --server"
        return [Finding("server", "fail", str(error), mend)]


def _ready(call: Invocation) -> list[Finding]:
    """Ask a server whether it can work. PostroadError if it does not answer."""
    try:
        with call.connect() as road:
            answer = road.answer(ApiRequest("GET", "/readyz"), taken=(503,))
            parts = ", ".join(f"{name} {state}" for name, state in answer.json()["parts"].items())
            if answer.status != 200:
                return [Finding("server", "fail", parts, "see its log")]
            stats = road.ask("GET", "/v1/stats")
    except RequestRefused as refused:
        mend = "see the message, and its log"
        return [Finding("server", "fail", refused.problem.detail, mend)]
    return [Finding("server", "ok", parts), _clock(stats["now_ms"])]


def _asked(call: Invocation) -> list[Finding]:
    """Ask the road itself, wherever it is."""
    try:
        with call.connect(looks=True) as road:
            return check_road(road)
    except RequestRefused as refused:
        return [Finding("road", "warn", refused.problem.detail, "ask with a token of every tenant")]
    except PostroadError as error:
        return [Finding("road", "fail", str(error), _mend(error))]


def _mend(error: PostroadError) -> str:
    """What to do about an error: what its class says after its first sentence."""
    if isinstance(error, StoreUnavailable):
        return "is it running? start it, or name another with --dsn"
    advice = " ".join((type(error).__doc__ or "").split()).partition(". ")[2]
    return advice[:1].lower() + advice[1:].rstrip(".") or "see the message"


def _clock(store_ms: int) -> Finding:
    off_ms = abs(SystemClock().now_ms() - store_ms)
    if off_ms > CLOCK_MS:
        mend = "set the clock (NTP): due times go by the store's"
        return Finding("clock", "warn", f"differs from the store's by {off_ms / 1000:.1f} s", mend)
    return Finding("clock", "ok", "agrees with the store's")


async def _store(settings: Settings) -> list[Finding]:
    store = open_to_look(settings.dsn, SystemClock())
    name = shown(settings.dsn)
    try:
        if not await has_road(settings.dsn):  # a look must not make one
            none = Finding("store", "warn", f"{name}: no road yet", "`postroad up` makes one")
            return [*await _broker(settings.dsn), none]
        await store.open()
    except SchemaTooOld as error:
        return [Finding("schema", "fail", str(error), _mend(error))]
    except RoadInUse as error:
        mend = "if it has just been started, ask again in a moment; else see its log"
        return [
            Finding("server", "warn", f"{str(error).partition(':')[0]}, and not ready yet", mend)
        ]
    except PostroadError as error:
        return [Finding("store", "fail", str(error), _mend(error))]
    try:
        counts = await store.counts()
        held = ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "empty"
        found = [Finding("store", "ok", f"{name}: {held}"), Finding("schema", "ok", "up to date")]
        if isinstance(store, HasBroker):
            found += check_broker(await store.broker_facts())
        keys = await _keys(settings, store)
        return [*found, keys, *_file_clock(settings, store), await _bell(store)]
    finally:
        await store.close()


async def _keys(settings: Settings, store: Store) -> Finding:
    """Check whether the keys of this machine open the stored secrets."""
    try:
        ring, own = key_ring(settings.keys_file), own_keys(settings.dsn)
        ring.add(own.known() if own is not None else [])
        if not ring and own is None:
            mend = "give those of the road's servers: `postroad up` needs them"
            return Finding("keys", "warn", "none are given here", mend)
        await check_keys(store, campaign_store(store), ring)
    except BadKey as error:
        text, _, mend = str(error).partition(": ")
        return Finding("keys", "fail", text, mend)
    return Finding("keys", "ok", "they open the stored secrets")


async def _broker(dsn: str) -> list[Finding]:
    """Check whether the broker answers, before there is a road."""
    if not dsn.startswith(("amqp://", "amqps://")):
        return []
    from postroad.stores.rabbitmq.wire.features import version_of

    version = await version_of(read_options(dsn).address, SystemClock())
    return [Finding("broker", "ok", f"RabbitMQ {version}")]


def _file_clock(settings: Settings, store: Store) -> list[Finding]:
    if not settings.dsn.startswith("sqlite:///"):
        return [_clock(store.clock.now_ms())]
    db = Database(Path(settings.dsn.removeprefix("sqlite:///")), readonly=True)
    try:
        newest: Any = db.connection.execute("select max(id) from message").fetchall()[0][0]
    finally:
        db.close()
    if newest and made_at_ms(newest) > store.clock.now_ms() + CLOCK_MS:
        mend = "the clock went back: set it (NTP)"
        return [Finding("clock", "warn", "some messages were accepted in the future", mend)]
    return [Finding("clock", "ok", "no message is from the future")]


def check_broker(facts: BrokerFacts) -> list[Finding]:
    """Check the broker: whether it is blocked, and what waits to be collected."""
    blocked = Finding(
        "broker", "fail", f"it accepts no messages: {facts.blocked}", "free memory or disk there"
    )
    found = [blocked if facts.blocked else Finding("broker", "ok", f"RabbitMQ {facts.version}")]
    text = f"{facts.lost_waiting} messages could not be routed"
    mend = "start a worker: it sends them on, or puts them into the dead set"
    lost = bool(facts.lost_waiting)
    found.append(Finding("catch-all", "warn" if lost else "ok", text, mend if lost else ""))
    text = f"{facts.dead_waiting} dead letters to collect"
    mend = "start a worker: it collects them"
    late = facts.dead_waiting > LETTERS_MAX
    return [*found, Finding("collector", "warn" if late else "ok", text, mend if late else "")]


async def _bell(store: Store) -> Finding:
    until_s = store.clock.steady_s() + BELL_S
    while not store.bell.alive and store.clock.steady_s() < until_s:
        await store.clock.sleep(0.1)
    if store.bell.alive:
        return Finding("notifications", "ok", "they arrive")
    mend = "is there a pooler? add ?listen=postgresql://… with the database's own address"
    return Finding("notifications", "warn", "none arrives: retry levels are polled", mend)
