"""An ordered endpoint moves between two servers while events are published and processes are killed."""

import asyncio
import json
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path
from random import Random

from msgspec import Struct, field

from tests.events.killing import drain
from tests.events.publisher_process import make_road
from tests.webhook.conftest import ROOT, Receiver


class MoveStory(Struct, frozen=True):
    """How much, and with how many processes."""

    events: int
    kills: int
    processes: int
    seed: int


class MoveReport(Struct):
    """What became of it."""

    moves: int = 0
    repeats: int = 0
    breaches: list[str] = field(default_factory=list)


def move_kills(dsn: str, receiver: Receiver, folder: Path, story: MoveStory) -> MoveReport:
    """Publish so many events under so many kills and as many moves as there is time for."""
    url = receiver.url("/slow/0.02/200")
    asyncio.run(_prepare(dsn, url))
    ledger, rng, kills = folder / "ledger", Random(story.seed), 0
    ledger.touch()
    Path(f"{ledger}.moves").touch()
    words = (url, ledger)
    running = [_start(dsn, *words, place, story) for place in range(story.processes)]
    try:
        while len(ledger.read_text().splitlines()) < story.events or kills < story.kills:
            time.sleep(rng.uniform(0.5, 1.5))
            if kills < story.kills:
                kills += 1
                place = rng.randrange(story.processes)
                _kill(running[place])
                running[place] = _start(dsn, *words, place, story)
    finally:
        for each in running:
            _kill(each)
    asyncio.run(drain(dsn))
    report = MoveReport(len(Path(f"{ledger}.moves").read_text().splitlines()))
    _judge(report, story, receiver)
    return report


async def _prepare(dsn: str, url: str) -> None:
    async with make_road(dsn) as road:
        await road.endpoints.create(url, ordered=True)


def _start(
    dsn: str, url: str, ledger: Path, place: int, story: MoveStory
) -> "subprocess.Popen[bytes]":
    words = (dsn, url, ledger, place, story.processes, story.events)
    command = [sys.executable, "-m", "tests.events.mover_process", *map(str, words)]
    return subprocess.Popen(command, cwd=ROOT)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def _judge(report: MoveReport, story: MoveStory, receiver: Receiver) -> None:
    entries = receiver.got("/slow/0.02/200")
    got = [json.loads(b64decode(entry["body"]))["n"] for entry in entries]
    first = list(dict.fromkeys(got))
    report.repeats = len(got) - len(first)
    if first != list(range(story.events)):
        report.breaches.append(f"not in order, or not all: {first}")
    # One try of an ordered queue is under way at a time: each kill leaves one unknown at most.
    if report.repeats > story.kills + story.processes:
        report.breaches.append(f"{report.repeats} repeats")
