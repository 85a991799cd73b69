"""Timetables on a fleet whose workers are killed: each tick is one message, and none is missing."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from postroad import Message, Postroad
from postroad.model.ids import to_text
from postroad.model.ticks import Fate, TickNote
from postroad.verbs.timetable_facts import Timetable
from tests.servers.postgres import PrivatePostgres

ROOT = Path(__file__).parents[2]
CREW = 3
NAMES = ("steady", "changed", "paused")
PATIENCE_S = 120.0


class Crew:
    """Worker processes that this one starts and kills."""

    def __init__(self, dsn: str, ledger: Path) -> None:
        self._command = (sys.executable, "-m", "tests.timetables.worker_process", dsn, str(ledger))
        self.processes = [self._start() for _ in range(CREW)]

    def _start(self) -> "subprocess.Popen[bytes]":
        paths = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        return subprocess.Popen(self._command, cwd=ROOT, env=paths)

    def kill(self, which: int, *, again: bool = True) -> None:
        """Kill one with -9, and start another one."""
        self.processes[which].send_signal(signal.SIGKILL)
        self.processes[which].wait()
        if again:
            self.processes[which] = self._start()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something, bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():
            await asyncio.sleep(0.1)


async def notes_of(road: Postroad, name: str) -> list[TickNote]:
    return await road.store.tick_notes(name, 0, 10_000)


def read(ledger: Path) -> list[list[str]]:
    return [line.split() for line in ledger.read_text().splitlines()]


async def tell(dsn: str, ledger: Path) -> None:
    road = Postroad(dsn)

    @road.handler("work")
    async def work(message: Message) -> None: ...

    async with road:
        for name in NAMES:
            await road.timetables.create(name, "work", name, every=1, missed="all")
        crew = Crew(dsn, ledger)
        try:
            await lead(road, crew)
            noted = [note for name in NAMES for note in await notes_of(road, name)]
            sent = {to_text(note.message) for note in noted}
            assert len(sent) == len(noted)

            async def delivered() -> bool:
                return {number for number, _ in read(ledger)} >= sent

            await until(delivered)
        finally:
            for which in range(CREW):
                crew.kill(which, again=False)
        assert {number for number, _ in read(ledger)} == sent  # no message but one for each tick
        assert {"new", "steady"} <= {body for _, body in read(ledger)} <= {*NAMES, "new"}
        assert {note.fate for note in noted} == {Fate.sent}
        times = [note.at_ms for note in await notes_of(road, "steady")]
        assert times == list(range(times[0], times[-1] + 1, 1_000))


async def lead(road: Postroad, crew: Crew) -> None:
    """Kill one worker after the other while ticks come, and change timetables meanwhile."""
    timetables = road.timetables
    steps: tuple[Callable[[], Awaitable[Timetable]], ...] = (
        lambda: timetables.change("changed", body="new"),
        lambda: timetables.pause("paused"),
        lambda: timetables.change("changed", every=2),
        lambda: timetables.resume("paused"),
    )
    for which, step in enumerate(steps):
        await come_again(road, "steady")
        crew.kill(which % CREW)
        _ = await step()  # a timetable, as it is then
    for name in NAMES:
        await come_again(road, name)
    for name in NAMES:
        assert (await road.timetables.pause(name)).paused


async def come_again(road: Postroad, name: str) -> None:
    """Wait for the next tick of a timetable."""
    seen = len(await notes_of(road, name))

    async def more() -> bool:
        return len(await notes_of(road, name)) > seen

    await until(more)


def test_each_tick_is_one_message_whoever_is_killed(
    server: PrivatePostgres, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    ledger.touch()
    asyncio.run(tell(server.create_road(), ledger))
