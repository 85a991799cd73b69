"""upgrade: a fleet under load is moved on to the next release, one process after the other."""

import sys
import tempfile
from pathlib import Path

from proof.shape import Reached
from tests.servers.postgres import PrivatePostgres
from tests.upgrades.next_release import upgrade_under_load

EACH = 500


def prove(_seconds: float, each: int = EACH) -> Reached:
    """Every message that a sender of either release had a receipt for is delivered, and no sender or
    worker saw an error."""
    with tempfile.TemporaryDirectory() as folder, PrivatePostgres() as pg:
        seen = upgrade_under_load(Path(folder), pg.create_database(), each)
    sys.stdout.write(
        f"{seen.accepted:,} accepted, {seen.missing} missing, {seen.twice} delivered twice, "
        f"{len(seen.errors)} errors\n"
    )
    sys.stdout.write("".join(f"{line}\n" for line in seen.errors))
    broken = seen.missing + seen.ghosts + len(seen.errors) + (seen.steps != 1)
    broken += seen.colours != {"red", "green"}
    return Reached(floor=32 * each, reached=seen.accepted, broken=broken)
