"""Events are replayed while those who work at the replays are killed; then the endpoints' own log is compared
with what was published."""

import asyncio
import subprocess
import sys
import time
from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

from msgspec import Struct, field

from tests.events.killing import Story
from tests.events.publisher_process import make_road
from tests.webhook.conftest import ROOT, Receiver

ENDED_S = 300.0
OK = "/status/200"
SLICES = 5
"""A replay takes so many seconds, a slice each."""


class ReplayReport(Struct):
    """What became of the replays."""

    kills: int = 0
    replayed: int = 0
    breaches: list[str] = field(default_factory=list)


def replay_kills(
    dsn: str, receiver: Receiver, story: Story, crash: Callable[[], None] | None
) -> ReplayReport:
    """Replay what failed and what was missed under so many kills; `crash` kills the database."""
    report, rng = ReplayReport(), Random(story.seed)
    replays = asyncio.run(_prepare(dsn, receiver, story.events))
    running = [_start(dsn) for _ in range(story.processes)]
    try:
        while report.kills < story.kills:
            _until_more(receiver, 2 * story.events)
            time.sleep(rng.uniform(0, 0.3))
            report.kills += 1
            if crash is not None and report.kills % 3 == 0:
                crash()
                continue
            place = rng.randrange(story.processes)
            _end(running[place])
            running[place] = _start(dsn)
        if crash is None:  # the file has one process at a time
            _end(running.pop())
        report.replayed = asyncio.run(_finish(dsn, replays))
    finally:
        for each in running:
            _end(each)
    _judge(report, receiver, story.events)
    return report


async def _prepare(dsn: str, receiver: Receiver, count: int) -> list[str]:
    """One endpoint has failed for all events, one was made after them."""
    async with make_road(dsn) as road:
        failed = await road.endpoints.create(receiver.url("/status/418"), reject=(418,))
        for number in range(count):
            await road.publish("order.paid", number)
        await road.run(until_idle=True)
        ok, rate = receiver.url(OK), f"{max(1, count // SLICES)}/s"
        await road.endpoints.change(failed.id, url=f"{ok}?failed")
        late = await road.endpoints.create(f"{ok}?late")
        since = datetime.now(UTC) - timedelta(days=1)
        return [
            (await road.replays.start("failed", since=since, rate=rate)).id,
            (await road.replays.start("missed", endpoint=late.id, rate=rate)).id,
        ]


def _until_more(receiver: Receiver, most: int) -> None:
    """Wait until something more was sent again, or all."""
    before, until_s = len(receiver.got(OK)), time.monotonic() + ENDED_S
    while before < most and len(receiver.got(OK)) == before:
        assert time.monotonic() < until_s, "nothing is sent again"
        time.sleep(0.02)


def _start(dsn: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.events.replay_process", dsn]
    return subprocess.Popen(command, cwd=ROOT)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


async def _finish(dsn: str, replays: list[str]) -> int:
    """Wait for the replays, and deliver what is left; answers how many they sent again."""
    async with make_road(dsn) as road, asyncio.timeout(ENDED_S):
        running = asyncio.ensure_future(road.run())
        for one in replays:
            while (await road.replays.get(one)).state != "done":
                await asyncio.sleep(0.1)
        while sum(one.count for one in (await road.inspect.overview(tenant=None)).counts):
            await asyncio.sleep(0.1)
        road.stop()
        await running
        return sum([(await road.replays.get(one)).replayed for one in replays])


def _judge(report: ReplayReport, receiver: Receiver, count: int) -> None:
    """An event is sent again as one message to each, however often that was tried."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for entry in receiver.got(OK):
        key = entry["query"], int(b64decode(entry["body"]))
        found[key].add(entry["headers"]["webhook-id"])
    for name in ("failed", "late"):
        for number in range(count):
            ids = found.pop((name, number), set())
            if len(ids) != 1:
                report.breaches.append(f"{name} got event {number} as {len(ids)} messages")
    report.breaches += [f"{name} got {number}, which it should not" for name, number in found]
    if report.replayed != 2 * count:
        report.breaches.append(f"{report.replayed} were counted, of {2 * count}")
