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
from tests.pacing.worker_process import road_of, sharded

ROOT = Path(__file__).parents[2]
WORKERS = 4
RATE = 50
SECOND_NS = 1_000_000_000
PATIENCE_S = 120.0


class Setup(Struct, frozen=True):
    """Who sends to whom, under which limit. `named`: one limit for all lanes; else each server has
    its own."""

    workers: int = WORKERS
    servers: int = 1
    shards: int = 16
    lanes: int = 4
    """Of one worker, at the most."""
    rate: int = RATE
    named: bool = False


ONE_LIMIT = Setup()


class Seen(Struct, frozen=True):
    """The receiver's log, read."""

    starts: int
    seconds: float
    """From the first to the last."""
    most: int
    """In any second."""
    processes: int
    kills: int
    rate: int = RATE
    lanes: int = 1
    """Servers, by their ports."""

    @property
    def share(self) -> float:
        """Of what was allowed in that time."""
        return self.starts / (self.rate * self.seconds) if self.seconds else 0.0


class Stand:
    """Receivers, a nursery of workers, and messages enough for all of them."""

    def __init__(self, dsn: str, seconds: float, setup: Setup) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="postroad-pace-"))
        self._dsn = dsn
        self._setup = setup
        self._door = self._start("tests.pacing.door_process", str(setup.servers))
        self._nursery = self._start(
            "tests.pacing.worker_process", dsn, str(setup.shards), str(setup.lanes)
        )
        self._workers: list[int] = []
        self._queues: list[str] = []
        enough = setup.rate * seconds * 1.2 + setup.rate
        self._messages = round(enough if setup.servers == 1 else enough / 2)

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
        self._queues = [f"http://127.0.0.1:{port}/x" for port in _answer(self._door).split()]
        for _ in range(self._setup.workers):
            self.work()
        asyncio.run(self._fill())
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

    async def _fill(self) -> None:
        rate = f"{self._setup.rate}/s"
        with sharded(self._setup.shards):
            async with road_of(self._dsn) as road, asyncio.timeout(60):
                # All of them are there before there is anything to do: so each gets lanes.
                while len((await road.workers.list()).workers) < self._setup.workers:
                    await asyncio.sleep(0.05)
                if self._setup.named:
                    await road.limits.put("provider", lanes="webhook:http://127.0.0.1:*", rate=rate)
                for queue in self._queues:
                    if not self._setup.named:
                        await road.send(queue, "makes the lane", delay=3600)
                        (lane, *_) = (await road.explain_queue(queue)).lanes
                        await road.limit(lane.id, rate)
                    await road.send_many([(queue, n) for n in range(self._messages)])

    def work(self) -> None:
        """One more worker."""
        _tell(self._nursery)
        self._workers.append(int(_answer(self._nursery)))

    def kill_one(self, rng: random.Random) -> None:
        """Without a word."""
        _kill(self._workers.pop(rng.randrange(len(self._workers))))

    def read_enough(self, kills: int) -> Seen:
        """Wait until there is something to judge: on a busy machine, workers come late."""
        until_s = time.monotonic() + PATIENCE_S
        processes = 2 if kills else self._setup.workers
        seen = self.read(kills)
        while (
            seen.starts <= seen.rate or seen.processes < processes or seen.lanes < len(self._queues)
        ):
            if time.monotonic() > until_s:
                break
            time.sleep(0.2)
            seen = self.read(kills)
        return seen

    def read(self, kills: int) -> Seen:
        log = self.folder / "log"
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        at_ns = sorted(int(line[0]) for line in lines)
        seconds = (at_ns[-1] - at_ns[0]) / SECOND_NS if at_ns else 0.0
        most = most_in_a_window(at_ns, SECOND_NS)
        processes, lanes = (len({line[place] for line in lines}) for place in (1, 3))
        return Seen(len(at_ns), seconds, most, processes, kills, self._setup.rate, lanes)


def run_named(dsn: str, seconds: float, *, kills: bool = False, named: bool = True) -> Seen:
    """Three workers, five lanes to five servers, and one limit for all of them."""
    setup = Setup(workers=3, servers=5, shards=1, lanes=2, rate=100, named=named)
    return run_workers(dsn, seconds, kills=kills, setup=setup)


def run_workers(
    dsn: str, seconds: float, *, kills: bool, seed: int = 0, setup: Setup = ONE_LIMIT
) -> Seen:
    """Workers for so long, undisturbed or one killed about every second and replaced."""
    rng, killed = random.Random(seed), 0
    with Stand(dsn, seconds, setup) as stand:
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(left_s, rng.uniform(0.2, 1.8)))
            if kills:
                stand.kill_one(rng)
                stand.work()
                killed += 1
        return stand.read_enough(killed)


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
