"""A hundred endpoints: how late the others are while one of them is dead and one is slow.

Calm and troubled parts take turns on one road. In both, the same 98 endpoints get the same load; the
last two are good ones in calm parts. Each troubled part has a dead and a slow one that were never
seen before, so that all of the trouble happens in it (refusals, timeouts, circuits that open, first
probes); when it ends they are paused, and a part begins when all of the one before was delivered, so
that no trouble goes on in calm parts."""

import asyncio
import gc
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from msgspec import Struct
from msgspec.structs import replace

from bench.hook_roads import RULES, SECRET, content
from bench.hook_sink import HookSink
from bench.lateness import over, p99_us
from bench.others import Others
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
OTHERS_MAX = 0.1
"""A pair of parts beside which other programs used more of the machine is made again."""
CALM, TROUBLED, RATIO = "1-over-p99-calm", "1-over-p99-troubled", "p99-calm-over-troubled"


def run(folder: Path, seconds: float, *, room: int = Limits().in_flight_max) -> list[Taken]:
    """How late each was in calm and in troubled parts. `room`: how many tries may be in flight in all;
    with one, everybody waits for the slow endpoint, and this must be seen."""
    gc.freeze()  # as `postroad up` and `worker` do
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

    async def part(self, seconds: float, bad: list[str]) -> dict[int, int]:
        """One part; when those that count are due. The bad ones, if any, have the last turns."""
        due_us: dict[int, int] = {}
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
        return due_us

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
    pairs = pairs_in(seconds)
    part_s = max(0.3, seconds / pairs / 2 - AHEAD_MS / 1_000)
    stage, still = Stage(pairs + pairs // 2), Stillness()
    rules = replace(RULES, timeout_ms=TIMEOUT_MS, connect_timeout_ms=TIMEOUT_MS // 2)
    settings = Settings(log_level="error", webhooks=rules, limits=Limits(in_flight_max=room))
    start_cpu_s = time.process_time()
    async with Postroad(f"sqlite:///{folder}/road.db", settings=settings) as road:
        for url in stage.urls:
            await road.webhooks.set(url, secrets=[SECRET])
        running = asyncio.create_task(road.run())
        load = Load(road, stage.good, stage.spare)
        await load.warm()
        await _all_delivered(road, load.sent)
        made = await _pairs(road, load, stage.bad, pairs, part_s)
        road.stop()
        await running
    cpu_s = (time.process_time() - start_cpu_s) / load.sent
    spans = Spans(still.end())
    moments = await stage.end()
    counts = (load.sent, len(moments), len(moments))
    return _taken([_late(pair, moments, spans) for pair in made], counts, cpu_s)


def pairs_in(seconds: float) -> int:
    """Calm and troubled parts in so much time: an even number of each, or one."""
    return max(1, 2 * round(seconds / PART_S / 4))


class Pair(Struct, frozen=True):
    """A calm part and the troubled one beside it: when each message was due."""

    due_us: dict[str, dict[int, int]]
    others: float
    """How much of the machine other programs used meanwhile."""


async def _pairs(
    road: Postroad, load: Load, bad: list[list[str]], wanted: int, part_s: float
) -> list[Pair]:
    """As many as are wanted beside which nobody else worked, while there are bad endpoints that
    were not seen before."""
    made: list[Pair] = []
    others = Others()
    for number, its in enumerate(bad):
        # The other way round every second time: what grows all along is in both alike.
        kinds = (CALM, TROUBLED) if number % 2 == 0 else (TROUBLED, CALM)
        others.share()
        due_us = {
            kind: await _part(road, load, its if kind == TROUBLED else [], part_s) for kind in kinds
        }
        made.append(Pair(due_us, others.share()))
        if sum(pair.others < OTHERS_MAX for pair in made) == wanted:
            break
    return made


async def _part(road: Postroad, load: Load, bad: list[str], part_s: float) -> dict[int, int]:
    due_us = await load.part(part_s, bad)
    # The last ones are due by now plus this. Nothing is asked of the store before: counting takes
    # it 10 ms in the end, and made 2 of 100 late.
    await asyncio.sleep(AHEAD_MS / 1_000)
    for url in bad:
        await road.pause(url)
    await _all_delivered(road, load.sent)
    return due_us


class Late(Struct, frozen=True):
    """How late they were in a pair of parts, without those that the whole machine held up."""

    late_us: dict[str, list[int]]
    left_out: dict[str, int]
    others: float


def _late(pair: Pair, moments: dict[int, int], spans: Spans) -> Late:
    late_us: dict[str, list[int]] = {}
    left_out: dict[str, int] = {}
    for kind, due_us in pair.due_us.items():
        every = [(us, moments[n]) for n, us in due_us.items() if n in moments]
        kept = [came - due for due, came in every if not spans.within(due, came)]
        if len(kept) < len(every) / 2:  # then it is this machine's usual state
            kept = [came - due for due, came in every]
        late_us[kind], left_out[kind] = kept, len(every) - len(kept)
    return Late(late_us, left_out, pair.others)


def _taken(made: list[Late], counts: tuple[int, int, int], cpu_s: float) -> list[Taken]:
    quiet = [pair for pair in made if pair.others < OTHERS_MAX]
    # Where others are always busy, that is this machine's usual state; it is said.
    pairs = quiet if len(quiet) >= len(made) / 2 else made
    taken: list[Taken] = []
    for kind in (CALM, TROUBLED):
        parts = [pair.late_us[kind] for pair in pairs]
        p99_s = p99_us([us for part in parts for us in part]) / 1e6
        left_out = sum(pair.left_out[kind] for pair in pairs)
        left_out += sum(len(pair.late_us[kind]) for pair in made if pair not in pairs)
        taken.append(
            Taken(
                kind,
                *counts,
                1,
                p99_s,
                cpu_s,
                NO_STORE,
                late_us=parts,
                left_out=left_out,
                others=max(pair.others for pair in pairs),
            )
        )
    ratio = over(*(one.late_us for one in taken)).value
    return [*taken, Taken(RATIO, *counts, 1, 1 / ratio, cpu_s, NO_STORE)]


async def _all_delivered(road: Postroad, count: int) -> None:
    end_s = time.perf_counter() + PATIENCE_S
    while (await road.store.counts()).get("delivered", 0) < count:
        if time.perf_counter() > end_s:
            raise RunFailed("the good endpoints did not get all within a minute")
        await asyncio.sleep(0.05)
