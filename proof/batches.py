"""batches: what follows a batch is sent once, whoever is killed. large-batch: one of a million."""

import asyncio
import sys

from proof.shape import Reached
from tests.batches.killing import kill_batches
from tests.batches.large import send_large
from tests.servers.postgres import PrivatePostgres

BATCHES, MEMBERS, EVERY_S, KILLS = 50, 2_000, 2.0, (5, 100)
LARGE = 1_000_000


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


def prove_large(_seconds: float, members: int = LARGE) -> Reached:
    """One batch of a million on three worker processes: its end reads a few pages, and what follows it is
    sent once."""
    with PrivatePostgres() as pg:
        report = asyncio.run(send_large(pg.create_road(), members))
    stored = report.stored
    sys.stdout.write(
        f"{members:,} stored in {stored.took_s:.1f} s, the sender grew by {stored.grown_kib / 1024:.0f} MiB, "
        f"delivered in {report.drained_s:.0f} s; its end took {report.end_ms:.1f} ms and "
        f"{report.end_blocks} pages\n"
    )
    sys.stdout.write("".join(f"{line}\n" for line in report.breaches))
    return Reached(floor=members - 1, reached=report.delivered, broken=len(report.breaches))
