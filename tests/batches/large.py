"""One large batch: what its sender needs, and what its end costs."""

import asyncio
import json
import os
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections import Counter
from pathlib import Path

import asyncpg
import msgspec
from msgspec import Struct, field

from postroad import Message, Postroad
from postroad.model.batch import batch_number
from tests.batches.killing import CREW, ROOT, Crew

PATIENCE_S = 3_600.0
END_BLOCKS_MAX = 500
"""Pages that the end of a batch may read, however many its members were."""
END = "explain (analyze, buffers, format json) select postroad.close_batches(array[$1::bigint], 0)"
ONE_LESS = "update postroad.batch set total = total - 1 where id = $1"


class Stored(Struct):
    """What the sender says of itself."""

    batch: str
    last: str
    took_s: float
    before_kib: int
    grown_kib: int


class LargeReport(Struct):
    """What was sent, what it took, and what broke."""

    stored: Stored
    delivered: int = 0
    drained_s: float = 0.0
    end_ms: float = 0.0
    end_blocks: int = 0
    breaches: list[str] = field(default_factory=list)


async def send_large(dsn: str, members: int, size: int = CREW) -> LargeReport:
    """Send one batch from a process of its own, and let a crew deliver all but one of it. Then look what
    its end would cost, cancel the last one, and count what follows."""
    words = (sys.executable, "-m", "tests.batches.large_sender", dsn, str(members))
    paths = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    sender = await asyncio.create_subprocess_exec(*words, cwd=ROOT, env=paths, stdout=PIPE)
    said, _ = await sender.communicate()
    stored = msgspec.json.decode(said.splitlines()[-1], type=Stored)
    report = LargeReport(stored)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger"
        ledger.touch()
        async with _watching(dsn) as road:
            crew, start_s = Crew(dsn, ledger, size), time.perf_counter()
            try:
                await _until_left(road, stored.batch, 1, report)
                report.drained_s = time.perf_counter() - start_s
                await _look_at_end(dsn, stored.batch, report)
                _ = await road.cancel(stored.last)
                await _until_left(road, stored.batch, 0, report)
                await _until_followed(ledger, report)
            finally:
                for process in crew.processes:
                    crew.end(process)
            await _judge(road, stored.batch, members, report)
        called = _called(ledger)
    if called != {"then": 1, "member": members - 1}:
        report.breaches.append(f"handlers were called: {called}")
    return report


def _watching(dsn: str) -> Postroad:
    road = Postroad(dsn)

    @road.handler("then")
    async def then(message: Message) -> None: ...

    return road


async def _until_left(road: Postroad, batch: str, left: int, report: LargeReport) -> None:
    """Wait until so many members have not ended."""
    until_s = time.monotonic() + PATIENCE_S
    while (status := await road.batches.get(batch)).pending > left or (
        not left and not status.over
    ):
        if time.monotonic() > until_s:
            report.breaches.append(f"not over after {PATIENCE_S} s: {status}")
            return
        await asyncio.sleep(0.1)


async def _look_at_end(dsn: str, batch: str, report: LargeReport) -> None:
    """As if the last had ended too; and it is taken back."""
    connection, number = await asyncpg.connect(dsn), batch_number(batch)
    try:
        for _ in range(2):  # the first time makes the plans
            change = connection.transaction()
            await change.start()
            await connection.execute(ONE_LESS, number)
            (said,) = json.loads(await connection.fetchval(END, number))
            await change.rollback()
            report.end_ms, plan = said["Execution Time"], said["Plan"]
            report.end_blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    finally:
        await connection.close()
    if report.end_blocks > END_BLOCKS_MAX:
        report.breaches.append(f"the end reads {report.end_blocks} pages")


async def _until_followed(ledger: Path, report: LargeReport) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not _called(ledger)["then"]:
        if time.monotonic() > until_s:
            report.breaches.append("what follows was not delivered")
            return
        await asyncio.sleep(0.5)


def _called(ledger: Path) -> Counter[str]:
    """How often each handler was called."""
    with ledger.open() as lines:
        return Counter(line.split(" ", 1)[0] for line in lines)


async def _judge(road: Postroad, batch: str, members: int, report: LargeReport) -> None:
    """All but the last were delivered, and one message follows."""
    status = await road.batches.get(batch)
    report.delivered = status.delivered
    counts = (status.delivered, status.dead, status.cancelled, status.sent)
    if counts != (members - 1, 0, 1, "then"):
        report.breaches.append(f"counts: {status}")
    following = (await road.messages.list(queue="then")).messages
    if len(following) != 1:
        report.breaches.append(f"{len(following)} messages follow")
