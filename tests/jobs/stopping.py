"""Jobs that run on three worker processes are stopped, and how long each stop took."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from postroad import Postroad, Receipt


class Stops(Struct, frozen=True):
    """How long each stop took, and what became of the jobs by the road and by the handlers."""

    seconds: list[float]
    answers: set[str]
    states: set[str]
    stopped: int
    done: int


async def until(holds: Callable[[], object]) -> None:
    """Wait for a condition; the test as a whole is bounded."""
    while not holds():
        await asyncio.sleep(0.02)


async def _stop(road: Postroad, job: Receipt) -> tuple[float, str]:
    began_s = time.monotonic()
    answer = await road.cancel(job.id, running=True)
    return time.monotonic() - began_s, answer.state


async def _started(road: Postroad, count: int, began: Callable[[], int]) -> list[Receipt]:
    wanted = began() + 2 * count
    kinds = ["async"] * count + ["thread"] * count
    jobs = [await road.send(kind, str(wanted + n)) for n, kind in enumerate(kinds)]
    await until(lambda: began() == wanted)
    return jobs


async def stop_jobs(dsn: str, folder: Path, count: int) -> Stops:
    """Start three workers, have them run so many coroutines and as many threads, and stop each; then
    as many again, and stop them all at once."""
    command = (sys.executable, "-m", "tests.jobs.stopping_worker", dsn, str(folder))
    workers = [subprocess.Popen(command) for _ in range(3)]  # noqa: ASYNC220 - they are waited for

    def ended(kind: str) -> int:
        return len(list(folder.glob(f"*.{kind}")))

    try:
        await until(lambda: ended("here") == 3)
        async with Postroad(dsn) as road:
            jobs = await _started(road, count, lambda: ended("began"))
            told = [await _stop(road, job) for job in jobs]
            more = await _started(road, count, lambda: ended("began"))
            told += await asyncio.gather(*(_stop(road, job) for job in more))
            states = {(await road.explain(job.id)).state for job in jobs + more}
        times, answers = [took_s for took_s, _ in told], {state for _, state in told}
        return Stops(times, answers, {str(one) for one in states}, ended("stopped"), ended("done"))
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            _ = worker.wait(60)
