"""Batches on three worker processes, one of them killed again and again; and the ledger that the
handlers keep by themselves."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from postroad import Message, Postroad, Send
from postroad.verbs.batches import BatchReceipt

ROOT = Path(__file__).parents[2]
CREW = 3
PATIENCE_S = 600.0
LOOK_S = 0.02
DIES_EVERY = 50


def dies(number: int) -> bool:
    """Whether a member of this number is refused by its handler."""
    return number % DIES_EVERY == DIES_EVERY - 1


class BatchReport(Struct):
    """What was sent, who was killed, and what broke."""

    batches: int = 0
    members: int = 0
    kills: int = 0
    exact: int = 0
    """Batches whose counts are exact, and that one message followed."""
    dead: int = 0
    breaches: list[str] = field(default_factory=list)


class Crew:
    """Worker processes that this one starts and kills."""

    def __init__(self, dsn: str, ledger: Path, size: int = CREW) -> None:
        self._command = (sys.executable, "-m", "tests.batches.worker_process", dsn, str(ledger))
        self.processes = [self._start() for _ in range(size)]

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
    dsn: str, batches: int, members: int, every_s: float, kills: tuple[int, int]
) -> BatchReport:
    """Send batches, kill a worker every so many seconds while they are at work, until all have ended
    or enough were killed, then compare. `kills`: how many there are at least, and at most."""
    report = BatchReport(batches, batches * members)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger"
        ledger.touch()
        road = _sender(dsn)
        async with road:
            crew = Crew(dsn, ledger)
            try:
                killing = Killing(crew, ledger, every_s, kills[1])
                sizes = (batches, members, kills[0])
                sending = asyncio.create_task(_send_all(road, *sizes, report))
                await killing.until_over(road, batches, report)
                sent = await sending
                await killing.until_told(batches, report)
            finally:
                for process in crew.processes:
                    crew.end(process)
            wrong = await _miscounted(road, sent, members, report)
        wrong |= _unlike(ledger.read_text().splitlines(), batches, members, report)
    report.exact = len(sent) - len(wrong)
    return report


def _sender(dsn: str) -> Postroad:
    road = Postroad(dsn)

    @road.handler("member")
    async def member(message: Message) -> None: ...

    @road.handler("then")
    async def then(message: Message) -> None: ...

    return road


async def _send_all(
    road: Postroad, batches: int, members: int, kills_min: int, report: BatchReport
) -> list[BatchReceipt]:
    """Send them, the first few each after one more kill: else a quick crew is done before."""
    sent: list[BatchReceipt] = []
    async with asyncio.timeout(PATIENCE_S):
        for batch in range(batches):
            while report.kills < min(batch, kills_min):
                await asyncio.sleep(LOOK_S)
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
        until_s, seen, rested_s = time.monotonic() + PATIENCE_S, 0, 0.0
        while (now_s := time.monotonic()) < until_s:
            await asyncio.sleep(LOOK_S)
            listed = (await road.batches.list(limit=batches)).batches
            if len(listed) == batches and all(one.state == "ended" for one in listed):
                return
            size = self._ledger.stat().st_size
            if size > seen and now_s > rested_s and report.kills < self._kills_max:
                seen, rested_s = size, now_s + self._every_s
                self._crew.kill(report.kills % CREW)
                report.kills += 1
        report.breaches.append(f"not over after {PATIENCE_S} s")

    async def until_told(self, batches: int, report: BatchReport) -> None:
        """Wait until what follows is delivered."""
        until_s = time.monotonic() + PATIENCE_S
        while len(_followers(self._ledger.read_text().splitlines())) < batches:
            if time.monotonic() > until_s:
                report.breaches.append("what follows was not delivered")
                return
            await asyncio.sleep(0.1)


async def _miscounted(
    road: Postroad, sent: Sequence[BatchReceipt], members: int, report: BatchReport
) -> set[int]:
    """The batches whose counts are not those of the dead set, and of which all that were refused are
    not in it."""
    headers, wrong = await _batches_of_dead(road), set[int]()
    report.dead = len(headers)
    dead = Counter(headers.values())
    for place, receipt in enumerate(sent):
        status = await road.batches.get(receipt.id)
        counts = (status.delivered, status.dead, status.cancelled, status.sent)
        refused = [one.id for n, one in enumerate(receipt.messages) if dies(n)]
        lost = [one for one in refused if headers.get(one) != receipt.id]
        number = dead[receipt.id]
        if counts != (members - number, number, 0, "then") or lost:
            wrong.add(place)
            report.breaches.append(f"{number} of {receipt.id} are dead, lost {lost}: {status}")
    stored = (await road.messages.list(queue="then", limit=500)).messages
    if len(stored) != len(sent):
        report.breaches.append(f"{len(stored)} messages follow {len(sent)} batches")
    return wrong


async def _batches_of_dead(road: Postroad) -> dict[str, str]:
    """The messages of the dead set, with the batch that their header names."""
    found, after = dict[str, str](), ""
    while True:
        page = await road.dead.list(limit=1_000, after=after)
        for one in page.messages:
            found[one.id] = (await road.dead.show(one.id)).headers["postroad-batch"]
        if not (after := page.after):
            return found


def _followers(lines: Sequence[str]) -> dict[str, set[str]]:
    """The messages that followed each batch."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        word, batch, _, message = line.split()
        if word == "then":
            found[batch].add(message)
    return found


def _unlike(lines: Sequence[str], batches: int, members: int, report: BatchReport) -> set[int]:
    """The batches of which a member was not called, or that not one message follows."""
    called: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        word, name, number, _ = line.split()
        if word == "member":
            called[name].add(number)
    followers, wrong = _followers(lines), set[int]()
    for batch in range(batches):
        follow, of = len(followers.get(str(batch), ())), len(called[str(batch)])
        if (follow, of) != (1, members):
            wrong.add(batch)
            report.breaches.append(f"batch {batch}: {of} of {members} called, {follow} follow")
    return wrong
