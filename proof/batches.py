"""batches: what follows a batch is sent once, whoever is killed."""

import asyncio
import sys

from proof.shape import Reached
from tests.batches.killing import kill_batches
from tests.servers.postgres import PrivatePostgres

BATCHES, MEMBERS, EVERY_S, KILLS = 50, 2_000, 2.0, (5, 100)


def prove(_seconds: float) -> Reached:
    """50 batches of 2,000 on three worker processes, one killed every two seconds: what follows each is
    sent once, and its counts are those of the dead set."""
    with PrivatePostgres() as pg:
        report = asyncio.run(kill_batches(pg.create_road(), BATCHES, MEMBERS, EVERY_S, KILLS))
    sys.stdout.write(
        f"{report.batches} batches, {report.members:,} members, {report.dead:,} dead, "
        f"{report.kills} kills\n"
    )
    sys.stdout.write("".join(f"{line}\n" for line in report.breaches))
    few = report.kills < KILLS[0]
    return Reached(floor=BATCHES, reached=report.exact, broken=len(report.breaches) + few)
