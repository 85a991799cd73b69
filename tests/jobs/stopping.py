"""Jobs that run on three worker processes are stopped, and how long each stop took."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from postroad import Postroad, Receipt


class Stops(Struct, frozen=True):
    """How long each stop took, and what became of the jobs by the road and by the handlers."""

    seconds: list[float]
    """Of coroutines and threads."""
    process_seconds: list[float]
    """Of jobs in child processes."""
    answers: set[str]
    states: set[str]
    stopped: int
    done: int


async def until(holds: Callable[[], object]) -> None:
    """Wait for a condition; the test as a whole is bounded."""
    while not holds():
        await asyncio.sleep(0.02)


@asynccontextmanager
async def delivering(road: Postroad) -> AsyncIterator[None]:
    """An open road delivers meanwhile."""
    road.hears_signals = False
    work = asyncio.create_task(road.run())
    try:
        yield
    finally:
        road.stop()
        await work


async def _stop(road: Postroad, job: Receipt) -> tuple[float, str]:
    began_s = time.monotonic()
    answer = await road.cancel(job.id, running=True)
    return time.monotonic() - began_s, answer.state


async def _started(
    road: Postroad, kinds: list[str], began: Callable[[], int]
) -> list[tuple[str, Receipt]]:
    wanted = began() + len(kinds)
    jobs = [(kind, await road.send(kind, str(wanted + n))) for n, kind in enumerate(kinds)]
    await until(lambda: began() == wanted)
    return jobs


async def stop_jobs(dsn: str, folder: Path, count: int) -> Stops:
    """Start three workers, have them run so many coroutines, as many threads and two jobs in child
    processes, and stop each; then as many again, and stop them all at once."""
    command = (sys.executable, "-m", "tests.jobs.stopping_worker", dsn, str(folder))
    workers = [subprocess.Popen(command) for _ in range(3)]  # noqa: ASYNC220 - they are waited for
    kinds = ["async"] * count + ["thread"] * count + ["process"] * 2

    def ended(kind: str) -> int:
        return len(list(folder.glob(f"*.{kind}")))

    try:
        await until(lambda: ended("here") == 3)
        async with Postroad(dsn) as road:
            jobs = await _started(road, kinds, lambda: ended("began"))
            told = [await _stop(road, job) for _, job in jobs]
            more = await _started(road, kinds, lambda: ended("began"))
            told += await asyncio.gather(*(_stop(road, job) for _, job in more))
            jobs += more
            states = {str((await road.explain(job.id)).state) for _, job in jobs}
        took = [(kind, took_s) for (kind, _), (took_s, _) in zip(jobs, told, strict=True)]
        return Stops(
            [took_s for kind, took_s in took if kind != "process"],
            [took_s for kind, took_s in took if kind == "process"],
            {state for _, state in told},
            states,
            ended("stopped"),
            ended("done"),
        )
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            _ = worker.wait(60)
