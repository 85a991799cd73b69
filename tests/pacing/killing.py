"""Four processes that send webhooks under one limit, killed and started again at random; what the
receiver saw, by its own log."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from tests.pacing.windows import most_in_a_window
from tests.pacing.worker_process import road_of

ROOT = Path(__file__).parents[2]
WORKERS = 4
RATE = 50
SECOND_NS = 1_000_000_000


class Seen(Struct, frozen=True):
    """The receiver's log, read."""

    starts: int
    seconds: float
    """From the first to the last."""
    most: int
    """In any second."""
    processes: int
    kills: int

    @property
    def share(self) -> float:
        """Of what was allowed in that time."""
        return self.starts / (RATE * self.seconds) if self.seconds else 0.0


class Stand:
    """A receiver, a nursery of workers, and messages enough for all of them."""

    def __init__(self, dsn: str, seconds: float) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="postroad-pace-"))
        self._dsn = dsn
        self._door = self._start("tests.pacing.door_process")
        self._nursery = self._start("tests.pacing.worker_process", dsn)
        self._workers: list[int] = []
        self._messages = round(RATE * seconds * 1.2) + RATE

    def _start(self, module: str, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            (sys.executable, "-m", module, *arguments),
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        port = int(_answer(self._door))
        asyncio.run(self._fill(f"http://127.0.0.1:{port}/x"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pid in self._workers:
            _kill(pid)
        for process in (self._nursery, self._door):
            process.communicate()
        shutil.rmtree(self.folder)

    async def _fill(self, queue: str) -> None:
        async with road_of(self._dsn) as road:
            await road.send_many([(queue, n) for n in range(self._messages)])
            (lane, *_) = (await road.explain_queue(queue)).lanes
            await road.limit(lane.id, f"{RATE}/s")

    def work(self) -> None:
        """One more worker."""
        _tell(self._nursery)
        self._workers.append(int(_answer(self._nursery)))

    def kill_one(self, rng: random.Random) -> None:
        """Without a word."""
        _kill(self._workers.pop(rng.randrange(len(self._workers))))

    def read(self, kills: int) -> Seen:
        lines = [line.split() for line in (self.folder / "log").read_text().splitlines()]
        at_ns = sorted(int(line[0]) for line in lines)
        seconds = (at_ns[-1] - at_ns[0]) / SECOND_NS if at_ns else 0.0
        most = most_in_a_window(at_ns, SECOND_NS)
        return Seen(len(at_ns), seconds, most, len({line[1] for line in lines}), kills)

    def count(self) -> int:
        log = self.folder / "log"
        return len(log.read_text().splitlines()) if log.exists() else 0


def run_workers(dsn: str, seconds: float, *, kills: bool, seed: int = 0) -> Seen:
    """Four workers for so long, undisturbed or one killed about every second and replaced."""
    rng, killed = random.Random(seed), 0
    with Stand(dsn, seconds) as stand:
        for _ in range(WORKERS):
            stand.work()
        _wait_for_first(stand)
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(left_s, rng.uniform(0.2, 1.8)))
            if kills:
                stand.kill_one(rng)
                stand.work()
                killed += 1
        return stand.read(killed)


def _wait_for_first(stand: Stand) -> None:
    until_s = time.monotonic() + 30
    while not stand.count():
        if time.monotonic() > until_s:
            raise AssertionError("nothing came in 30 s")
        time.sleep(0.05)


def _tell(process: "subprocess.Popen[str]") -> None:
    if process.stdin is None:
        raise RuntimeError("it has no stdin")
    process.stdin.write("one\n")
    process.stdin.flush()


def _answer(process: "subprocess.Popen[str]") -> str:
    if process.stdout is None:
        raise RuntimeError("it has no stdout")
    return process.stdout.readline()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
