"""fanout: one event to 100 endpoints, against 100 sends and one send_many; what it stores; and how fast it is
delivered."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import apsw
import asyncpg
import uvloop
from msgspec import Struct

from bench.databases import start_server
from bench.hook_roads import RULES, SECRET, content
from bench.hook_sink import HookSink
from bench.shape import Say, Seen
from postroad import Postroad
from postroad.config import Settings

NAME = "fanout"
SECONDS = 40.0
ENDPOINTS = 100
BODY_BYTES = 10_000
DELIVERED = 60
"""Events whose messages are delivered, in each of so many rounds."""
ROUNDS = 3
BLOCK = 10
"""So often each is done before the next: a send_many leaves a megabyte to be written by the disk."""
STORED = 30
"""Events whose bytes are counted."""
BYTES_TIMES = 1.5
PAGE = 500
PRAGMAS = ("page_count", "freelist_count", "page_size")
SIZE = "select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'postroad' and c.relname in ('message', 'event')"
Work = Callable[[], Awaitable[object]]
Figures = dict[str, float]


def watch(folder: Path, seconds: float, say: Say) -> Seen:
    """Both stores, one after the other."""
    server = start_server()
    try:
        roads: dict[str, Callable[[str], str]] = {
            "sqlite": lambda name: f"sqlite:///{folder}/{name}.db",
            "postgres": lambda _name: server.create_road(),
        }
        seen = {store: uvloop.run(_look(make, seconds / 2, say)) for store, make in roads.items()}
    finally:
        server.__exit__(None, None, None)
    worst = {name: min(each[name] for each in seen.values()) for name in seen["sqlite"]}
    bars: tuple[str, ...] = ("awaited-sends-over-publish", "send-many-over-publish")
    bars = (*bars, "bytes-allowed-over-stored", "delivery-share-of-plain")
    return Seen(
        ours={f"{store}: a publish, ms": each["publish_ms"] for store, each in seen.items()},
        peers={f"{store}: {name}": each[name] for store, each in seen.items() for name in each},
        limit={"endpoints": ENDPOINTS, "body_bytes": BODY_BYTES},
        reached={bar: worst[bar] for bar in ("counts-agree", *bars)},
    )


def _road(dsn: str) -> Postroad:
    return Postroad(dsn, settings=Settings(log_level="error", webhooks=RULES))


async def _look(make: Callable[[str], str], seconds: float, say: Say) -> Figures:
    accepted = await _accepting(make, seconds / 2)
    say(f"accepting: {accepted}")
    event, plain = await _bytes(make("event"), "event"), await _bytes(make("plain"), "plain")
    stored = BYTES_TIMES * (BODY_BYTES + plain) / event
    say(f"stored: {event:.0f} bytes an event, {plain:.0f} for 100 messages without a body")
    runs = [
        await _delivery(make(f"{kind}{n}"), kind)
        for n in range(ROUNDS)
        for kind in ("event", "plain")
    ]
    rates = [each.rate for each in runs]
    share = median(rates[0::2]) / median(rates[1::2])
    say(f"delivered a CPU second, events and plain in turn: {[round(rate) for rate in rates]}")
    return {
        **accepted,
        "bytes-allowed-over-stored": stored,
        "delivery-share-of-plain": share,
        "counts-agree": agreement(runs),
        "delivered a CPU second": max(rates[0::2]),
    }


async def _endpoints(road: Postroad, base: str) -> None:
    for number in range(ENDPOINTS):
        await road.endpoints.create(f"{base}{number}", secret=SECRET)


async def _accepting(make: Callable[[str], str], seconds: float) -> Figures:
    """One publish, 100 awaited sends and one send_many, in turn, so that all have the same machine; each in
    a road of its own, so that none pays for what another has left to write."""
    base = "http://127.0.0.1:9/"
    body = {"n": 1, "text": "x" * (BODY_BYTES - 20)}
    urls = [f"{base}{number}" for number in range(ENDPOINTS)]
    roads = [_road(make(name)) for name in ("publish", "awaited", "many")]
    async with roads[0] as ours, roads[1] as one_by_one, roads[2] as together:
        await _endpoints(ours, base)

        async def publish() -> object:
            return await ours.publish("order.paid", body)

        async def awaited() -> object:
            return [await one_by_one.send(url, body) for url in urls]

        async def many() -> object:
            return await together.send_many([(url, body) for url in urls])

        works: dict[str, Work] = {"publish": publish, "awaited": awaited, "many": many}
        took: dict[str, list[float]] = {name: [] for name in works}
        for work in works.values():
            await work()
        end_s = time.perf_counter() + seconds
        while time.perf_counter() < end_s:
            for name, work in works.items():
                for _ in range(BLOCK):
                    start_s = time.perf_counter()
                    await work()
                    took[name].append(time.perf_counter() - start_s)
    ms = {name: median(each) * 1000 for name, each in took.items()}
    return {
        "publish_ms": ms["publish"],
        "awaited_ms": ms["awaited"],
        "send_many_ms": ms["many"],
        "awaited-sends-over-publish": ms["awaited"] / ms["publish"],
        "send-many-over-publish": ms["many"] / ms["publish"],
    }


async def _bytes(dsn: str, kind: str) -> float:
    """What the store grows by for each event, or for each 100 messages with a body of one byte."""
    base = "http://127.0.0.1:9/"
    urls = [f"{base}{number}" for number in range(ENDPOINTS)]
    async with _road(dsn) as road:
        if kind == "event":
            await _endpoints(road, base)
        await _store(road, kind, urls)
        before = await _size(dsn)
        for _ in range(STORED):
            await _store(road, kind, urls)
        return (await _size(dsn) - before) / STORED


async def _store(road: Postroad, kind: str, urls: list[str]) -> None:
    if kind == "event":
        await road.publish("order.paid", "x" * (BODY_BYTES - 2))
    else:
        await road.send_many([(url, 0) for url in urls])


async def _size(dsn: str) -> int:
    if dsn.startswith("sqlite"):
        raw = apsw.Connection(dsn.removeprefix("sqlite:///"))
        pages, free, size = (int(str(raw.pragma(name))) for name in PRAGMAS)
        raw.close()
        return (pages - free) * size
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval(SIZE))
    finally:
        await connection.close()


class Delivered(Struct, frozen=True):
    """Messages for a second of our processor time, and how many messages there were."""

    rate: float
    accepted: int
    recorded: int
    received: int


def agreement(runs: list[Delivered]) -> float:
    """1.0 where each message was accepted, recorded as delivered and received, once."""
    meant = DELIVERED * ENDPOINTS
    agree = [each.accepted == each.recorded == each.received == meant for each in runs]
    return sum(agree) / len(agree)


async def _delivery(dsn: str, kind: str) -> Delivered:
    """Store so many, then deliver all: by our processor time, which is what bounds one process; other
    programs do not change it."""
    sink = HookSink()
    urls = [sink.url(f"hook/{number}") for number in range(ENDPOINTS)]
    async with _road(dsn) as road:
        if kind == "event":
            await _endpoints(road, sink.url("hook/"))
        else:
            for url in urls:
                await road.webhooks.set(url, secrets=[SECRET])
        accepted: list[str] = []
        for sent in range(DELIVERED):
            if kind == "event":
                accepted += (await road.publish("order.paid", content(sent))).messages
            else:
                told = await road.send_many([(url, content(sent)) for url in urls])
                accepted += [each.id for each in told]
        start_s = time.process_time()
        await road.run(until_idle=True)
        took_s = time.process_time() - start_s
        recorded = await _recorded(road)
    got = await asyncio.to_thread(sink.end)
    return Delivered(len(accepted) / took_s, len(set(accepted)), recorded, len(got.numbers))


async def _recorded(road: Postroad) -> int:
    count, after = 0, ""
    while True:
        page = await road.messages.list(state="delivered", limit=PAGE, after=after)
        count, after = count + len(page.messages), page.after
        if not after:
            return count
