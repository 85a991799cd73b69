"""Ours: signed webhooks to a raw sink, every try in the log, on SQLite and on PostgreSQL."""

import asyncio
import time
from pathlib import Path

import apsw
import asyncpg
import msgspec
import uvloop

from bench.databases import database, durability, note, wait_when_recording
from bench.hook_sink import HookSink
from bench.shape import Durability, RunFailed, Taken
from bench.witness import Witness
from postroad import Postroad
from postroad.config import Settings
from postroad.model.webhook import WebhookRules

FILL_SHARE = 0.25
BATCH = 500
WARM = 200
QUEUES = 8
"""Paths of one server: one lane, 64 in flight."""
SECRET = "whsec_" + "Rm9yIGJlbmNobWFya3Mgb25seSwgbm8gc2VjcmV0"
PADDING = "x" * (256 - len('{"n":,"text":""}'))
RULES = WebhookRules(allow=("127.0.0.0/8",), http=True, ports=())
LOGGED = "select count(*) from webhook_try where outcome = 'delivered' and length(answer) = 2"
COUNTS = f"""
select (select count(*) from postroad.history where state = 'delivered'),
       (select count(*) from postroad.message), ({LOGGED.replace("webhook_try", "postroad.webhook_try")})
"""


def content(number: int) -> dict[str, object]:
    """256 bytes as JSON."""
    return {"n": number, "text": PADDING[len(str(number)) :]}


def body(number: int) -> bytes:
    """The same, written."""
    return msgspec.json.encode(content(number))


def make_road(dsn: str) -> Postroad:
    return Postroad(dsn, settings=Settings(log_level="warning", webhooks=RULES))


async def prepare(road: Postroad, sink: HookSink) -> list[str]:
    """All endpoints, signed."""
    urls = [sink.url(f"hook/{number}") for number in range(QUEUES)]
    for url in urls:
        await road.webhooks.set(url, secrets=[SECRET])
    return urls


class Filling:
    """Sends numbered bodies to the endpoints in turn."""

    def __init__(self, road: Postroad, urls: list[str]) -> None:
        self._road = road
        self._urls = urls
        self.sent = 0

    async def send(self, count: int) -> None:
        """The next ones, in one call."""
        first, self.sent = self.sent, self.sent + count
        urls = self._urls
        await self._road.send_many(
            [(urls[n % len(urls)], content(n)) for n in range(first, first + count)]
        )

    async def drain(self, seconds: float) -> tuple[int, float, float]:
        """Warm up, fill for a share of the time, then deliver all: messages, seconds, CPU."""
        await self.send(WARM)
        await self._road.run(until_idle=True)
        end_s = time.perf_counter() + seconds * FILL_SHARE
        while time.perf_counter() < end_s:
            await self.send(BATCH)
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        await self._road.run(until_idle=True)  # returns when all is recorded
        cpu_s = time.process_time() - start_cpu_s
        return self.sent - WARM, time.perf_counter() - start_s, cpu_s


def on_postgres(_folder: Path, seconds: float, *, server: str, recording: str) -> list[Taken]:
    """`recording` "on": results wait for the disk, as accepting does; "off": as shipped."""
    return [uvloop.run(_on_postgres(seconds, server, recording))]


async def _on_postgres(seconds: float, server: str, recording: str) -> Taken:
    sink = HookSink()
    async with database(server) as dsn, make_road(dsn) as road:
        connection = await asyncpg.connect(dsn)
        if recording == "on":
            await wait_when_recording(connection)
        filling = Filling(road, await prepare(road, sink))
        timed, took_s, cpu_s = await filling.drain(seconds)
        await note(connection, "postroad.message", "postroad.history_batch")
        await filling.send(1)
        await road.run(until_idle=True)
        promised = await durability(connection)
        delivered, waiting, logged = await connection.fetchrow(COUNTS) or (0, 0, 0)
        await connection.close()
    got = await asyncio.to_thread(sink.end)
    if logged != delivered:
        raise RunFailed(f"{delivered} delivered, {logged} in the log")
    name = "webhooks" if recording == "on" else "webhooks-as-shipped"
    counts = (filling.sent, delivered - waiting, got.distinct)
    return Taken(name, *counts, timed, took_s, cpu_s, *promised)


def on_sqlite(folder: Path, seconds: float, *, recording: str) -> list[Taken]:
    """The same on a file."""
    witness = Witness(always_full=recording == "on")
    return [uvloop.run(_on_sqlite(folder / "road.db", seconds, witness, recording))]


async def _on_sqlite(path: Path, seconds: float, witness: Witness, recording: str) -> Taken:
    sink = HookSink()
    async with make_road(f"sqlite:///{path}") as road:
        filling = Filling(road, await prepare(road, sink))
        timed, took_s, cpu_s = await filling.drain(seconds)
        witness.watch()
        await filling.send(1)
        await road.run(until_idle=True)
        promised = witness.durability()
    got = await asyncio.to_thread(sink.end)
    file = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    ((delivered,),) = file.execute("select count(*) from history where state = 'delivered'")
    ((waiting,),) = file.execute("select count(*) from message")
    ((logged,),) = file.execute(LOGGED)
    file.close()
    if logged != delivered:
        raise RunFailed(f"{delivered} delivered, {logged} in the log")
    name = "webhooks-sqlite" if recording == "on" else "webhooks-sqlite-as-shipped"
    counts = (filling.sent, delivered - waiting, got.distinct)
    seen = Durability(promised.journal_mode, promised.synchronous)
    return Taken(name, *counts, timed, took_s, cpu_s, seen, witness.recording)
