"""batches: what follows a batch is sent once, whoever is killed."""

import asyncio
import sys

from proof.shape import Reached
from tests.batches.killing import kill_batches
from tests.servers.postgres import PrivatePostgres

BATCHES, MEMBERS, EVERY_S, KILLS_MAX = 50, 2_000, 2.0, 100


def prove(_seconds: float) -> Reached:
    """50 batches of 2,000 on three worker processes, one killed every two seconds."""
    with PrivatePostgres() as pg:
        report = asyncio.run(kill_batches(pg.create_road(), BATCHES, MEMBERS, EVERY_S, KILLS_MAX))
    sys.stdout.write(
        f"{report.batches} batches, {report.members:,} members, {report.kills} kills\n"
    )
    sys.stdout.write("".join(f"{line}\n" for line in report.breaches))
    return Reached(floor=BATCHES, reached=report.batches, broken=len(report.breaches))
