"""pace: four processes on one limit of 50/s, undisturbed, then killed and started again at random.
named-limit: three processes, five lanes to five servers, one named limit of 100/s."""

import sys

from proof.shape import Reached
from tests.pacing.killing import RATE, Seen, run_named, run_workers
from tests.servers.postgres import PrivatePostgres

FLOOR = 0.9
NAMED_FLOOR = 0.8
UNDISTURBED_S = 20.0


def prove(seconds: float) -> Reached:
    """The share of the allowed total that undisturbed workers reach; broken: each run in which
    the receiver saw more than the limit in some second."""
    with PrivatePostgres() as pg:
        calm = run_workers(pg.create_database(), min(seconds, UNDISTURBED_S), kills=False)
        _tell("undisturbed", calm)
        killed = run_workers(pg.create_database(), seconds, kills=True)
        _tell("killed", killed)
    broken = sum(seen.most > RATE for seen in (calm, killed))
    return Reached(floor=FLOOR, reached=round(calm.share, 4), broken=broken)


def prove_named(seconds: float) -> Reached:
    """As above; broken too if the check does not see that lanes which have limits of their own
    exceed it together."""
    with PrivatePostgres() as pg:
        calm = run_named(pg.create_database(), min(seconds, UNDISTURBED_S))
        _tell("undisturbed", calm)
        killed = run_named(pg.create_database(), seconds, kills=True)
        _tell("killed", killed)
        each = run_named(pg.create_database(), 5.0, named=False)
        _tell("without the named limit", each)
    broken = sum(seen.most > seen.rate for seen in (calm, killed)) + (each.most <= each.rate)
    return Reached(floor=NAMED_FLOOR, reached=round(calm.share, 4), broken=broken)


def _tell(what: str, seen: Seen) -> None:
    sys.stdout.write(
        f"{what}: {seen.starts:,} starts of {seen.processes} processes in {seen.seconds:.1f} s "
        f"({seen.share:.1%} of what is allowed), at most {seen.most} in a second, "
        f"{seen.kills} kills\n"
    )
