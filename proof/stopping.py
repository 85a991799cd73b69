"""stops: running jobs of a fleet of three are stopped, each within a second, and end one way."""

import asyncio
import sys
import tempfile
from pathlib import Path

from proof.shape import Reached
from tests.jobs.stopping import stop_jobs
from tests.servers.postgres import PrivatePostgres

JOBS, MOST_S = 24, 1.0


def prove(_seconds: float) -> Reached:
    """48 jobs on three worker processes, half of them threads, are stopped one after the other, and
    then 48 at once."""
    with PrivatePostgres() as pg, tempfile.TemporaryDirectory() as folder:
        stops = asyncio.run(stop_jobs(pg.create_road(), Path(folder), JOBS))
    _tell("one by one", stops.seconds[: 2 * JOBS])
    _tell("at once", stops.seconds[2 * JOBS :])
    sys.stdout.write(f"{stops.stopped} handlers were stopped\n")
    one_way = stops.states == stops.answers == {"cancelled"} and not stops.done
    within = sum(each <= MOST_S for each in stops.seconds)
    return Reached(floor=4 * JOBS, reached=within, broken=int(not one_way))


def _tell(how: str, seconds: list[float]) -> None:
    took = sorted(seconds)
    sys.stdout.write(
        f"{len(took)} stops {how}: median {took[len(took) // 2] * 1000:.0f} ms, "
        f"longest {took[-1] * 1000:.0f} ms\n"
    )
