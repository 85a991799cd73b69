"""Events are published and delivered while publishers, workers and the database are killed; then every
endpoint's own log is compared with the plan."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import psycopg
from msgspec import Struct, field

from postroad import Postroad
from postroad.model.ids import to_text
from tests.events.plan import HOWS, matches, tenant_of, tenants
from tests.events.publisher_process import make_road
from tests.webhook.conftest import ROOT, Receiver

WINDOW = 64
"""Tries of one lane that may be under way: a process that stands still for longer than its lease loses
these, too."""
LOG_S = 0.3
"""So soon the receiver has written what a killed process had sent."""
PATHS = ("/slow/0.2/200", "/status/200")
"""Some answer late: their tries are under way when their process is killed."""
DRAINED_S = 120.0
"""Without any delivery."""


class KillReport(Struct):
    """What became of all events."""

    published: int = 0
    delivered: int = 0
    repeats: int = 0
    kills: int = 0
    cut: int = 0
    """Tries that the receiver had got and whose end was not recorded, at one of the kills."""
    breaches: list[str] = field(default_factory=list)


class Story(Struct, frozen=True):
    """How much, and with how many processes."""

    events: int
    kills: int
    processes: int
    seed: int


def publish_kills(
    dsn: str, receiver: Receiver, folder: Path, story: Story, crash: Callable[[], None] | None
) -> KillReport:
    """Publish so many events under so many kills; `crash` kills the database and starts it again."""
    asyncio.run(_prepare(dsn, receiver))
    report, rng, cut = KillReport(), Random(story.seed), Counter[str]()
    ledgers = [folder / f"ledger{place}" for place in range(story.processes)]
    for ledger in ledgers:
        ledger.touch()
    running = [_start(dsn, ledgers, place, story) for place in range(story.processes)]
    try:
        while (published := _lines(ledgers)) < story.events or report.kills < story.kills:
            assert all(each.poll() is None for each in running), "a publisher ended by itself"
            time.sleep(rng.uniform(0, 0.05))
            # One after each part of the events: a process is killed at its work.
            if published * (story.kills + 1) <= story.events * (report.kills + 1):
                continue
            report.kills += 1
            if crash is not None and report.kills % 4 == 0:
                crash()
                cut |= _cut(dsn, receiver)
                continue
            place = rng.randrange(story.processes)
            _kill(running[place])
            cut |= _cut(dsn, receiver)
            running[place] = _start(dsn, ledgers, place, story)
    finally:
        for each in running:
            _kill(each)
    report.cut = (cut | _cut(dsn, receiver)).total()
    report.published = published
    asyncio.run(drain(dsn))
    _judge(report, ledgers, receiver)
    return report


async def _prepare(dsn: str, receiver: Receiver) -> None:
    async with make_road(dsn) as road:
        for tenant, size in tenants().items():
            for place in range(size):
                url = f"{receiver.url(PATHS[place % 2])}?{tenant}.{place}"
                await road.endpoints.create(url, tenant=tenant, **HOWS[place % len(HOWS)])


def _start(dsn: str, ledgers: list[Path], place: int, story: Story) -> "subprocess.Popen[bytes]":
    words = (dsn, ledgers[place], place, story.events, story.processes)
    command = [sys.executable, "-m", "tests.events.publisher_process", *map(str, words)]
    return subprocess.Popen(command, cwd=ROOT)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def _lines(ledgers: list[Path]) -> int:
    return sum(len(ledger.read_bytes().splitlines()) for ledger in ledgers)


def _cut(dsn: str, receiver: Receiver) -> Counter[str]:
    """How often the receiver has got messages whose end is not recorded."""
    time.sleep(LOG_S)
    left = _unfinished(dsn)
    got = (entry["headers"]["webhook-id"] for entry in _log(receiver))
    return Counter(number for number in got if number in left)


def _unfinished(dsn: str) -> set[str]:
    if not dsn.startswith("postgres"):
        with closing(sqlite3.connect(dsn.removeprefix("sqlite:///"))) as raw:
            rows = raw.execute("select id from message").fetchall()
    else:
        with psycopg.connect(dsn) as raw:
            rows = raw.execute("select id from postroad.message").fetchall()
    return {to_text(number) for (number,) in rows}


async def drain(dsn: str) -> None:
    """Deliver what is left, also of workers that were killed."""
    async with make_road(dsn) as road:
        running = asyncio.ensure_future(road.run())
        left, until_s = await _left(road), time.monotonic() + DRAINED_S
        while left:
            await asyncio.sleep(0.2)
            before, left = left, await _left(road)
            if left < before:
                until_s = time.monotonic() + DRAINED_S
            assert time.monotonic() < until_s, f"{left} messages are not delivered"
        road.stop()
        await running


async def _left(road: Postroad) -> int:
    said = await road.inspect.overview(tenant=None)
    return sum(each.count for each in said.counts)


def _judge(report: KillReport, ledgers: list[Path], receiver: Receiver) -> None:
    counts = _received(receiver)
    accepted = [line.split() for ledger in ledgers for line in ledger.read_text().splitlines()]
    events = {int(number): event for number, event, _ in accepted}
    wanted = {
        (f"{tenant_of(number)}.{place}", number)
        for number in events
        for place in range(tenants()[tenant_of(number)])
        if matches(place, number)
    }
    tell = report.breaches.append
    if len(set(events.values())) != len(events):
        tell("two numbers have one event")
    matched = Counter(number for _, number in wanted)
    for number, _, count in accepted:
        if matched[int(number)] != int(count):
            tell(f"event {number} has {count} messages")
    for endpoint, missed in sorted(wanted - counts.keys()):
        tell(f"{endpoint} did not get event {missed}")
    for endpoint, extra in sorted(counts.keys() - wanted):
        tell(f"{endpoint} got event {extra}, which it should not")
    report.delivered, report.repeats = len(wanted), counts.total() - len(counts)
    # Only a try whose end nobody knows is made again.
    unknown = report.cut + WINDOW * (1 + report.kills // 20)
    if report.repeats > unknown:
        tell(f"{report.repeats} repeats, at most {unknown} tries had an unknown end")
    messages: dict[tuple[str, int], set[str]] = defaultdict(set)
    for entry in _log(receiver):
        messages[_what(entry)].add(entry["headers"]["webhook-id"])
    for (endpoint, event), ids in sorted(messages.items()):
        if len(ids) > 1:
            tell(f"{endpoint} got event {event} as {len(ids)} messages")


def _received(receiver: Receiver) -> Counter[tuple[str, int]]:
    return Counter(_what(entry) for entry in _log(receiver))


def _log(receiver: Receiver) -> list[dict[str, Any]]:
    return [entry for path in PATHS for entry in receiver.got(path)]


def _what(entry: dict[str, Any]) -> tuple[str, int]:
    return entry["query"], json.loads(b64decode(entry["body"]))["n"]
