"""Batches on three worker processes, one of them killed again and again; and the ledger that the
handlers keep by themselves."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from postroad import Message, Postroad, Send
from postroad.verbs.batches import BatchReceipt

ROOT = Path(__file__).parents[2]
CREW = 3
PATIENCE_S = 600.0


class BatchReport(Struct):
    """What was sent, who was killed, and what broke."""

    batches: int = 0
    members: int = 0
    kills: int = 0
    breaches: list[str] = field(default_factory=list)


class Crew:
    """Worker processes that this one starts and kills."""

    def __init__(self, dsn: str, ledger: Path) -> None:
        self._command = (sys.executable, "-m", "tests.batches.worker_process", dsn, str(ledger))
        self.processes = [self._start() for _ in range(CREW)]

    def _start(self) -> "subprocess.Popen[bytes]":
        paths = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        return subprocess.Popen(self._command, cwd=ROOT, env=paths)

    def kill(self, which: int) -> None:
        """Kill one with -9, and start another one."""
        self.end(self.processes[which])
        self.processes[which] = self._start()

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()


async def kill_batches(
    dsn: str, batches: int, members: int, every_s: float, kills_max: int
) -> BatchReport:
    """Send batches, kill a worker every so many seconds while they are at work, until all have ended
    or enough were killed, then compare."""
    report = BatchReport(batches, batches * members)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger"
        ledger.touch()
        road = _sender(dsn)
        async with road:
            crew = Crew(dsn, ledger)
            try:
                killing = Killing(crew, ledger, every_s, kills_max)
                sending = asyncio.create_task(_send_all(road, batches, members))
                await killing.until_over(road, batches, report)
                sent = await sending
                await killing.until_told(batches, report)
            finally:
                for process in crew.processes:
                    crew.end(process)
            await _check(road, sent, members, report)
        _compare(ledger.read_text().splitlines(), batches, members, report)
    return report


def _sender(dsn: str) -> Postroad:
    road = Postroad(dsn)

    @road.handler("member")
    async def member(message: Message) -> None: ...

    @road.handler("then")
    async def then(message: Message) -> None: ...

    return road


async def _send_all(road: Postroad, batches: int, members: int) -> list[BatchReceipt]:
    sent = []
    for batch in range(batches):
        sends = [Send("member", [batch, number]) for number in range(members)]
        sent.append(await road.batch(sends, then=Send("then", [batch, 0])))
    return sent


class Killing:
    """Kills workers in turn, whenever the ledger has grown since the last kill."""

    def __init__(self, crew: Crew, ledger: Path, every_s: float, kills_max: int) -> None:
        self._crew, self._ledger = crew, ledger
        self._every_s, self._kills_max = every_s, kills_max

    async def until_over(self, road: Postroad, batches: int, report: BatchReport) -> None:
        """Kill until all batches have ended."""
        until_s, seen = time.monotonic() + PATIENCE_S, 0
        while time.monotonic() < until_s:
            await asyncio.sleep(self._every_s)
            listed = (await road.batches.list(limit=batches)).batches
            if len(listed) == batches and all(one.state == "ended" for one in listed):
                return
            size = self._ledger.stat().st_size
            if size > seen and report.kills < self._kills_max:
                seen = size
                self._crew.kill(report.kills % CREW)
                report.kills += 1
        report.breaches.append(f"not over after {PATIENCE_S} s")

    async def until_told(self, batches: int, report: BatchReport) -> None:
        """Wait until what follows is delivered."""
        until_s = time.monotonic() + PATIENCE_S
        while self._ledger.read_text().count("then ") < batches:
            if time.monotonic() > until_s:
                report.breaches.append("what follows was not delivered")
                return
            await asyncio.sleep(0.1)


async def _check(
    road: Postroad, sent: Sequence[BatchReceipt], members: int, report: BatchReport
) -> None:
    for receipt in sent:
        status = await road.batches.get(receipt.id)
        counts = (status.delivered + status.dead, status.cancelled, status.sent)
        if counts != (members, 0, "then"):
            report.breaches.append(f"counts of {receipt.id}: {status}")


def _compare(lines: Sequence[str], batches: int, members: int, report: BatchReport) -> None:
    """Each member was called, and each batch has one message that follows it."""
    called: dict[str, set[str]] = defaultdict(set)
    followers: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        word, batch, number, message = line.split()
        (called[batch].add(number) if word == "member" else followers[batch].add(message))
    for batch in map(str, range(batches)):
        if len(followers[batch]) != 1:
            report.breaches.append(f"batch {batch} has {len(followers[batch])} that follow")
        if len(called[batch]) != members:
            report.breaches.append(f"batch {batch}: {len(called[batch])} of {members} called")
