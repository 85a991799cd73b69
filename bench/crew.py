"""Worker processes of ours, told when to begin and to stop, and counted."""

import asyncio
import sys
import time
from array import array
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from bench.shape import RunFailed
from bench.stand import ROOT


class Worker:
    """One process of bench.pg_worker."""

    def __init__(self, process: Process, path: Path) -> None:
        self._process = process
        self._path = path
        self.taken = 0
        self.cpu_s = 0.0

    @classmethod
    async def start(cls, dsn: str, path: Path, busy_us: int) -> "Worker":
        """Answers when it is ready to go."""
        command = (sys.executable, "-m", "bench.pg_worker", dsn, str(path), str(busy_us))
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=PIPE, stdout=PIPE)
        worker = cls(process, path)
        if await worker._line() != "ready":
            raise RunFailed("a worker did not become ready")
        return worker

    async def _line(self) -> str:
        if self._process.stdout is None:
            raise RunFailed("a worker has no stdout")
        line = await self._process.stdout.readline()
        if not line:
            raise RunFailed(f"a worker has ended, {await self._process.wait()}")
        return line.decode().strip()

    def tell(self, word: str) -> None:
        """`go` or `stop`."""
        if self._process.stdin is None:
            raise RunFailed("a worker has no stdin")
        self._process.stdin.write(word.encode() + b"\n")

    async def count(self, told: "asyncio.Event") -> None:
        """Hear how many it has taken, until it is over."""
        while True:
            line = await self._line()
            if line.startswith("over"):
                self.cpu_s = float(line.removeprefix("over"))
                return
            self.taken = int(line)
            told.set()

    async def end(self) -> tuple["array[int]", "array[int]"]:
        """The numbers that arrived and the microseconds at which they did."""
        if await self._process.wait() != 0:
            raise RunFailed("a worker did not end well")
        size = self._path.stat().st_size // 16
        numbers, moments_us = array("q"), array("q")
        with self._path.open("rb") as file:
            numbers.fromfile(file, size)
            moments_us.fromfile(file, size)
        return numbers, moments_us

    def kill(self) -> None:
        """Whatever happens, it ends."""
        if self._process.returncode is None:
            self._process.kill()


class Crew:
    """Several workers on one database."""

    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers
        self._told = asyncio.Event()

    @classmethod
    async def start(cls, dsn: str, folder: Path, size: int, busy_us: int = 0) -> "Crew":
        """All ready to go; their handlers compute for so long."""
        paths = [folder / f"worker-{number}" for number in range(size)]
        workers = [Worker.start(dsn, path, busy_us) for path in paths]
        return cls(list(await asyncio.gather(*workers)))

    async def drain(self, messages: int) -> float:
        """Have them take so many; the seconds until all results are recorded."""
        counting = asyncio.gather(*[worker.count(self._told) for worker in self.workers])
        start_s = time.perf_counter()
        for worker in self.workers:
            worker.tell("go")
        await self.has(messages, counting)
        for worker in self.workers:
            worker.tell("stop")
        await counting
        return time.perf_counter() - start_s

    async def has(self, messages: int, counting: "asyncio.Future[list[None]]") -> None:
        """Wait until they have taken so many."""
        while sum(worker.taken for worker in self.workers) < messages:
            self._told.clear()
            heard = asyncio.ensure_future(self._told.wait())
            await asyncio.wait((heard, counting), return_when=asyncio.FIRST_COMPLETED)
            if counting.done():
                raise RunFailed("the workers are over before all was taken")

    def kill(self) -> None:
        """Whatever happens, they end."""
        for worker in self.workers:
            worker.kill()
