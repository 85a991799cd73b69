"""Mailboxes on ten servers: on each lane a hundred that are over quota and ten that take all."""

import asyncio
from pathlib import Path

import msgspec
import uvloop

from bench.disk import copy_to_disk
from bench.roads import deliver_for, probe
from bench.shape import RunFailed, Say, Taken
from bench.sink import Sink, delivered_in
from bench.witness import Witness
from postroad import Postroad
from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.outcome import DELIVERED, Outcome, quota

SERVERS = 10
FULL_BOXES = 100
HEALTHY_BOXES = 10
HOURS_6_MS = 6 * 3_600_000
FILL_BATCH = 5_000
PARTS = 10

FULL = [f"box://{s}/full-{n}" for n in range(FULL_BOXES) for s in range(SERVERS)]
HEALTHY = [f"box://{s}/healthy-{n}" for n in range(HEALTHY_BOXES) for s in range(SERVERS)]


class Boxes:
    """A transport whose servers answer at once: one lane a server."""

    name = "box"
    shards = 1

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.refused = 0

    def address(self, queue: str, tenant: str) -> LaneKey:
        """The server's lane."""
        return LaneKey(self.name, queue.split("/")[2], tenant=tenant)

    def policy(self, _queue: str, /) -> Policy:
        """As a webhook's."""
        return Policy()

    def pools(self) -> list[str]:
        """All servers."""
        return [self.name]

    def concurrency(self, _pool: str, /) -> int:
        """No limit of its own."""
        return 0

    async def open(self, _lane: LaneKey, /) -> "Boxes":
        """Needs no connection."""
        return self

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """A full box is over quota for the rest of the day."""
        if "/full-" in queue.name:
            self.refused += 1
            return quota("mailbox is full", after_ms=HOURS_6_MS)
        self._sink.take(msgspec.json.decode(message.body, type=int))
        return DELIVERED

    def overdue(self, seconds: float) -> Outcome:
        """Never comes to it."""
        return quota(f"no answer in {seconds} s")

    async def close(self) -> None:
        """Nothing to give back."""


def build(folder: Path, blocked: int, say: Say) -> tuple[Path, Path]:
    """Two roads with the same queues: one without messages, one with so many blocked ones."""
    empty, full = folder / "empty.db", folder / "full.db"
    asyncio.run(_open_boxes(empty))
    copy_to_disk(empty, full)
    uvloop.run(_fill(full, blocked, say))
    return empty, full


async def _open_boxes(path: Path) -> None:
    sink = Sink(HEALTHY)
    async with Postroad(f"sqlite:///{path}", transports=[Boxes(sink)]) as road:
        await sink.send_many(road, len(HEALTHY))
        await road.run(until_idle=True)


async def _fill(path: Path, blocked: int, say: Say) -> None:
    """Each full box refuses its first message; the others are added behind it."""
    sink = Sink(FULL)
    boxes = Boxes(sink)
    async with Postroad(f"sqlite:///{path}", transports=[boxes]) as road:
        await sink.send_many(road, len(FULL))
        await road.run(until_idle=True)
        if boxes.refused < len(FULL):
            raise RunFailed(f"{boxes.refused} of {len(FULL)} queues are blocked")
        for part in range(1, PARTS + 1):
            while sink.accepted < blocked * part // PARTS:
                left = blocked * part // PARTS - sink.accepted
                await sink.send_many(road, min(FILL_BATCH, left))
            say(f"built {sink.accepted:,} of {blocked:,} blocked messages")


def run(folder: Path, seconds: float, *, start: str, blocked: int) -> list[Taken]:
    """Healthy queues on a fresh copy of a road, for so long."""
    path = folder / "road.db"
    copy_to_disk(Path(start), path)
    return [uvloop.run(_run(path, seconds, blocked))]


async def _run(path: Path, seconds: float, blocked: int) -> Taken:
    before, _ = delivered_in(path)
    sink, witness = Sink(HEALTHY), Witness()
    boxes = Boxes(sink)
    async with Postroad(f"sqlite:///{path}", transports=[boxes]) as road:
        timed, took_s, cpu_s = await deliver_for(road, sink, seconds)
        durability = await probe(road, sink, witness)
    delivered, waiting = delivered_in(path)
    if waiting != blocked or boxes.refused:
        raise RunFailed(
            f"{waiting} of {blocked} still wait, {boxes.refused} blocked ones were tried"
        )
    return Taken(
        name="healthy",
        accepted=sink.accepted,
        recorded=delivered - before,
        received=sink.distinct,
        timed=timed,
        seconds=took_s,
        cpu_s=cpu_s,
        durability=durability,
        recording=witness.recording,
    )
