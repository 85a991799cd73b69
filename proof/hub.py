"""hub-kills: a hub that is killed in mid-traffic loses nothing, and repeats only what was not acked."""

import sys
import tempfile
import time
from pathlib import Path

from proof.shape import Reached
from tests.hub.killing import kill_rounds

FLOOR, STEP = 20, 5


def prove(seconds: float) -> Reached:
    """Kill -9 at random moments that no run has tried before."""
    seed = int(time.time())
    until_s = time.monotonic() + seconds
    kills, broken = 0, list[str]()
    while (kills < FLOOR or time.monotonic() < until_s) and not broken:
        with tempfile.TemporaryDirectory() as folder:
            report = kill_rounds(Path(folder), STEP, seed)
        seed, kills = seed + 1, kills + report.kills
        broken += report.breaches
        line = f"{kills} kills: {report.accepted} accepted, {report.repeats} came twice"
        sys.stdout.write("".join(f"{one}\n" for one in (line, *report.breaches[:20])))
        sys.stdout.flush()
    return Reached(floor=FLOOR, reached=kills, broken=len(broken))
