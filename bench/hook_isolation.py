"""A hundred endpoints: how late the others are when one of them is dead and one is slow."""

import asyncio
import socket
import time
from pathlib import Path

import uvloop
from msgspec.structs import replace

from bench.hook_roads import RULES, SECRET, content
from bench.hook_sink import HookSink
from bench.shape import NO_STORE, RunFailed, Taken
from postroad import Postroad
from postroad.config import Settings

ENDPOINTS = 100
PARTS = 6
"""Calm and troubled parts take turns, so that both get the machine's good and bad moments."""
LONGER = 4
"""Than the other runs: a p99 needs many."""
EVERY_S = 0.02
A_TURN = 4
"""Messages in each step: 200 a second, far below what one process can do."""
SLOW_S = 3.0
PATIENCE_S = 60.0


def run(folder: Path, seconds: float) -> list[Taken]:
    """Two rates: one over the p99 lateness of calm parts, and of troubled ones."""
    return uvloop.run(_run(folder, seconds))


class Load:
    """Sends to a hundred endpoints in turn at a steady pace; in troubled parts two of them are bad
    ones, in calm parts they are as good as the others."""

    def __init__(self, road: Postroad, good: list[str], spare: list[str], bad: list[str]) -> None:
        self._road = road
        self._good = good
        self._last = {False: spare, True: bad}
        self.due_us: dict[int, int] = {}
        self.troubled: set[int] = set()
        self.next = 0
        self.spared = 0
        """Messages to the two that are good in calm parts; they are not looked at."""
        self._turn = 0

    async def warm(self) -> None:
        """One to every good endpoint, so that all lanes have their clients and connections."""
        urls = [*self._good, *self._last[False]]
        numbers = [*range(len(self._good)), *[-1] * len(self._last[False])]
        self.next, self.spared = len(self._good), len(self._last[False])
        await self._road.send_many(
            [(url, content(n)) for url, n in zip(urls, numbers, strict=True)]
        )
        await _all_delivered(self._road, len(urls))

    async def part(self, seconds: float, *, trouble: bool) -> None:
        """One part."""
        urls = [*self._good, *self._last[trouble]]
        start_s, step = time.perf_counter(), 0
        while time.perf_counter() < start_s + seconds:
            sends: list[tuple[str, object]] = []
            for _ in range(A_TURN):
                self._turn = (self._turn + 1) % len(urls)
                number = -1
                if self._turn < len(self._good):
                    number, self.next = self.next, self.next + 1
                    self.due_us[number] = time.time_ns() // 1_000
                    if trouble:
                        self.troubled.add(number)
                elif not trouble:
                    self.spared += 1
                sends.append((urls[self._turn], content(number)))
            await self._road.send_many(sends)
            step += 1
            await asyncio.sleep(max(0.0, start_s + step * EVERY_S - time.perf_counter()))


async def _run(folder: Path, seconds: float) -> list[Taken]:
    sinks = [HookSink() for _ in range(2)]
    slow = HookSink(SLOW_S)
    dead = socket.socket()
    dead.bind(("127.0.0.1", 0))  # bound, not listening: refused, and nobody else's
    # Each endpoint a lane of its own, as with servers of different customers.
    every = [f"http://127.0.0.{2 + n // 2}:{sinks[n % 2].port}/" for n in range(ENDPOINTS)]
    good, spare = every[:-2], every[-2:]
    bad = [slow.url(), f"http://127.0.0.1:{dead.getsockname()[1]}/"]
    rules = replace(RULES, timeout_ms=1_000, connect_timeout_ms=500)
    road = Postroad(
        f"sqlite:///{folder}/road.db", settings=Settings(log_level="error", webhooks=rules)
    )
    load = Load(road, good, spare, bad)
    start_cpu_s = time.process_time()
    async with road:
        for url in (*every, *bad):
            await road.webhooks.set(url, secrets=[SECRET])
        running = asyncio.create_task(road.run())
        await load.warm()
        first = load.next
        for part in range(PARTS):
            await load.part(seconds * LONGER / PARTS, trouble=part % 2 == 1)
        await _all_delivered(road, load.next + load.spared)
        road.stop()
        await running
    cpu_s = (time.process_time() - start_cpu_s) / load.next
    moments: dict[int, int] = {}
    for sink in sinks:
        got = await asyncio.to_thread(sink.end)
        arrived = zip(got.numbers, got.moments_us, strict=True)
        moments |= {number: us for number, us in arrived if number >= 0}
    await asyncio.to_thread(slow.end)
    dead.close()
    late_us = {n: moments[n] - due for n, due in load.due_us.items() if n >= first and n in moments}
    calm = _p99_s([late for n, late in late_us.items() if n not in load.troubled])
    troubled = _p99_s([late for n, late in late_us.items() if n in load.troubled])
    counts = (load.next, len(moments), len(moments))
    return [
        Taken("1-over-p99-calm", *counts, 1, calm, cpu_s, NO_STORE),
        Taken("1-over-p99-troubled", *counts, 1, troubled, cpu_s, NO_STORE),
    ]


async def _all_delivered(road: Postroad, count: int) -> None:
    end_s = time.perf_counter() + PATIENCE_S
    while (await road.store.counts()).get("delivered", 0) < count:
        if time.perf_counter() > end_s:
            raise RunFailed("the good endpoints did not get all within a minute")
        await asyncio.sleep(0.05)


def _p99_s(late_us: list[int]) -> float:
    return sorted(late_us)[int(len(late_us) * 0.99)] / 1e6
