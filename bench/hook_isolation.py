"""A hundred endpoints: how late the others are while one of them is dead and one is slow.

Calm and troubled parts take turns on one road. In both, the same 98 endpoints get the same load; the
last two are good ones in calm parts. Each troubled part has a dead and a slow one that were never
seen before, so that all of the trouble happens in it (refusals, timeouts, circuits that open, first
probes); when it ends they are paused, and a part begins when all of the one before was delivered, so
that no trouble goes on in calm parts."""

import asyncio
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from msgspec import Struct
from msgspec.structs import replace

from bench.hook_roads import RULES, SECRET, content
from bench.hook_sink import HookSink
from bench.shape import NO_STORE, RunFailed, Taken
from bench.stillness import Spans, Stillness
from postroad import Postroad
from postroad.config import Settings
from postroad.model.limits import Limits

ENDPOINTS = 100
EVERY_MS = 5
"""200 messages a second, far below what one process can do."""
AHEAD_MS = 500
PART_S = 5.0
LEAD_S = 1.2
"""The beginning of a part is calm and not looked at: tries from the part before end in it."""
SLOW_S = 3.0
TIMEOUT_MS = 1_000
PATIENCE_S = 60.0
CALM, TROUBLED, RATIO = "1-over-p99-calm", "1-over-p99-troubled", "p99-calm-over-troubled"


def run(folder: Path, seconds: float, *, room: int = Limits().room) -> list[Taken]:
    """How late each was in calm and in troubled parts. `room`: how many tries may be in flight in all;
    with one, everybody waits for the slow endpoint, and this must be seen."""
    return uvloop.run(_run(folder, seconds, room))


class Load:
    """A message every few milliseconds, to a hundred endpoints in turn. Each is sent with its time of
    delivery, half a second before: lateness counts from that time, not from when a generator on a
    busy machine came to it, and neither does a loop that stands still hide it."""

    def __init__(self, road: Postroad, good: list[str], spare: list[str]) -> None:
        self._road = road
        self._good = good
        self._spare = spare
        self._turn = 0
        self.sent = 0
        """To endpoints that answer, each with its number."""

    async def warm(self) -> None:
        """One to every good endpoint, so that all lanes have their connections."""
        urls = [*self._good, *self._spare]
        await self._road.send_many([(url, content(n)) for n, url in enumerate(urls)])
        self.sent = len(urls)

    async def part(self, seconds: float, bad: list[str], due_us: dict[int, int]) -> None:
        """One part; notes when those that count are due. The bad ones, if any, have the last turns."""
        start_ms, lead_ms = time.time_ns() // 1_000_000 + AHEAD_MS, min(LEAD_S, seconds / 3) * 1_000
        async with asyncio.TaskGroup() as sends:
            for at_ms in range(0, int(seconds * 1_000), EVERY_MS):
                await asyncio.sleep((start_ms + at_ms - AHEAD_MS) / 1_000 - time.time())
                counts = at_ms >= lead_ms
                url, number = self._next(bad if counts else [])
                if counts and url in self._good:
                    due_us[number] = (start_ms + at_ms) * 1_000
                due = datetime.fromtimestamp((start_ms + at_ms) / 1_000, UTC)
                # Nobody waits for the receipt: a late one does not make the next ones late.
                sends.create_task(self._road.send(url, content(number), deliver_at=due))

    def _next(self, bad: list[str]) -> tuple[str, int]:
        turn, self._turn = self._turn, (self._turn + 1) % ENDPOINTS
        last = turn - len(self._good)
        if last >= 0 and bad:
            return bad[last], -1
        number, self.sent = self.sent, self.sent + 1
        return (self._spare[last] if last >= 0 else self._good[turn]), number


class Stage:
    """The receivers, and their addresses: each a lane of its own, as with different customers."""

    def __init__(self, troubles: int) -> None:
        self._sinks = [HookSink() for _ in range(2)]
        self._slow = HookSink(SLOW_S)
        self._dead = socket.socket()
        self._dead.bind(("0.0.0.0", 0))  # bound, not listening: refused, and nobody else's
        good = [f"http://127.0.0.{2 + n // 2}:{self._sinks[n % 2].port}/" for n in range(ENDPOINTS)]
        self.good, self.spare = good[:-2], good[-2:]
        ports = (self._slow.port, self._dead.getsockname()[1])
        self.bad = [[f"http://127.0.1.{n}:{port}/" for port in ports] for n in range(troubles)]
        self.urls = [*good, *(url for pair in self.bad for url in pair)]

    async def end(self) -> dict[int, int]:
        """When each number came."""
        moments: dict[int, int] = {}
        for sink in self._sinks:
            got = await asyncio.to_thread(sink.end)
            if got.distinct != len(got.numbers):
                raise RunFailed("something was sent twice to a good endpoint")
            moments |= dict(zip(got.numbers, got.moments_us, strict=True))
        await asyncio.to_thread(self._slow.end)
        self._dead.close()
        return moments


async def _run(folder: Path, seconds: float, room: int) -> list[Taken]:
    pairs = max(1, round(seconds / PART_S / 2))
    part_s = max(0.3, seconds / pairs / 2 - AHEAD_MS / 1_000)
    stage, still = Stage(pairs), Stillness()
    rules = replace(RULES, timeout_ms=TIMEOUT_MS, connect_timeout_ms=TIMEOUT_MS // 2)
    settings = Settings(log_level="error", webhooks=rules, limits=Limits(room=room))
    due: dict[str, dict[int, int]] = {CALM: {}, TROUBLED: {}}
    start_cpu_s = time.process_time()
    async with Postroad(f"sqlite:///{folder}/road.db", settings=settings) as road:
        for url in stage.urls:
            await road.webhooks.set(url, secrets=[SECRET])
        running = asyncio.create_task(road.run())
        load = Load(road, stage.good, stage.spare)
        await load.warm()
        await _all_delivered(road, load.sent)
        for bad in stage.bad:
            await load.part(part_s, [], due[CALM])
            await _all_delivered(road, load.sent)
            await load.part(part_s, bad, due[TROUBLED])
            for url in bad:
                await road.pause(url)
            await _all_delivered(road, load.sent)
        road.stop()
        await running
    cpu_s = (time.process_time() - start_cpu_s) / load.sent
    spans = Spans(still.end())
    moments = await stage.end()
    counts = (load.sent, len(moments), len(moments))
    return _taken({name: _late(its, moments, spans) for name, its in due.items()}, counts, cpu_s)


class Late(Struct, frozen=True):
    """How late they were, without those that the whole machine held up."""

    late_us: list[int]
    left_out: int


def _late(due_us: dict[int, int], moments: dict[int, int], spans: Spans) -> Late:
    every = {n: (us, moments[n]) for n, us in due_us.items() if n in moments}
    kept = [came - due for due, came in every.values() if not spans.within(due, came)]
    if len(kept) < len(every) / 2:  # then it is this machine's usual state
        kept = [came - due for due, came in every.values()]
    return Late(kept, len(every) - len(kept))


def _taken(late: dict[str, Late], counts: tuple[int, int, int], cpu_s: float) -> list[Taken]:
    p99_s = {name: p99_us(its.late_us) / 1e6 for name, its in late.items()}
    taken = [
        Taken(name, *counts, 1, p99_s[name], cpu_s, NO_STORE, 2, its.late_us, its.left_out)
        for name, its in late.items()
    ]
    return [*taken, Taken(RATIO, *counts, 1, p99_s[TROUBLED] / p99_s[CALM], cpu_s, NO_STORE)]


async def _all_delivered(road: Postroad, count: int) -> None:
    end_s = time.perf_counter() + PATIENCE_S
    while (await road.store.counts()).get("delivered", 0) < count:
        if time.perf_counter() > end_s:
            raise RunFailed("the good endpoints did not get all within a minute")
        await asyncio.sleep(0.05)


def p99_us(late_us: list[int]) -> int:
    """Of a hundred, one is later."""
    return sorted(late_us)[int(len(late_us) * 0.99)]
