"""A process with few file descriptors: `… FOLDER PORT JSON`. Sends one message each to many servers
(all at that port), and prints what became of it."""

import asyncio
import re
import resource
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from msgspec import Struct

from postroad.app import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.circuit import CLOSED
from postroad.model.limits import Limits
from postroad.observe.metrics import Meter
from postroad.transports.webhook import connections
from postroad.verbs.parts import Parts
from tests.webhook.conftest import LOCAL


class Story(Struct, frozen=True):
    """How few descriptors, for how much."""

    descriptors: int
    servers: int
    room: int
    kept: bool = False
    """Idle connections are not given up when they are many."""


class Told(Struct, frozen=True):
    """What came of it."""

    most: int
    """Descriptors that were open at once."""
    tries: dict[str, int]
    states: dict[str, int]
    levels: list[int]
    blamed: int
    """Messages whose lane or queue was blocked."""
    counted: int
    """Tries that the metrics show as put off."""


async def resolve(_name: str) -> list[str]:
    return ["127.0.0.1"]


def descriptors() -> int:
    """Looking takes one too: when none is left, all are open."""
    try:
        return len(list(Path("/proc/self/fd").iterdir()))
    except OSError:
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


async def watch(counts: list[int]) -> None:
    while True:
        counts.append(descriptors())
        await asyncio.sleep(0.002)


async def live(folder: str, port: str, story: Story) -> Told:
    # On a slow machine too no lane is given back meanwhile: that closes its connection.
    limits = Limits(in_flight_max=story.room, linger_ms=600_000)
    settings = Settings(webhooks=LOCAL, limits=limits)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (story.descriptors, hard))
    connections.IDLE_S = 60.0  # type: ignore[misc]  # also on a slow machine none goes by itself
    if story.kept:
        connections.IDLE_SHARE = 1  # type: ignore[misc]
    road = Postroad(f"sqlite:///{folder}/road.db", settings=settings, parts=Parts(resolve=resolve))
    road.meter = Meter()
    counts: list[int] = []
    async with road:
        watching = asyncio.create_task(watch(counts))
        urls = [f"http://h{n}.example:{port}/" for n in range(story.servers)]
        receipts = await road.send_many([Send(url, {}) for url in urls])
        explained: list[Any] = []
        running = asyncio.create_task(road.run())
        blamed: set[str] = set()
        while not explained or any(one.finished_at_ms is None for one in explained):
            await asyncio.sleep(0.2)
            explained = [await road.explain(receipt.id) for receipt in receipts]
            for one in explained:
                if one.circuit != CLOSED or any(hold.scope != "message" for hold in one.blocks):
                    blamed.add(one.id)
        road.stop()
        await running
        watching.cancel()
    tries = Counter(f"{t.outcome} {t.error}".strip() for one in explained for t in one.tries)
    states = Counter(str(one.state) for one in explained)
    levels = sorted({t.level for one in explained for t in one.tries})
    return Told(max(counts), tries, states, levels, len(blamed), put_off(road.meter))


def put_off(meter: Meter) -> int:
    found = re.search(rb'postroad_tries_total{.*outcome="later".*} (\d+)', meter.text())
    return int(found[1]) if found else 0


if __name__ == "__main__":
    where, at, told = sys.argv[1:]
    done = uvloop.run(live(where, at, msgspec.json.decode(told, type=Story)))
    sys.stdout.buffer.write(msgspec.json.encode(done))
