"""server-kills: kill -9 of `postroad up` under HTTP load loses nothing that was answered with 2xx."""

import sys
import time

from proof.shape import Reached
from tests.crash.serving import kill_rounds

KILLS_FLOOR, KILLS_STEP = 20, 5


def prove(seconds: float) -> Reached:
    """Kill at random moments, twenty times and as long as there is time."""
    seed, kills, broken = int(time.time()), 0, list[str]()
    until_s = time.monotonic() + seconds
    while kills < KILLS_FLOOR or time.monotonic() < until_s:
        report = kill_rounds(KILLS_STEP, seed)
        seed, kills = seed + 1, kills + report.kills
        broken += report.breaches
        sys.stdout.write(f"{kills} kills: {report.answers} answered, {report.cut} cut off\n")
        sys.stdout.write("".join(f"{each}\n" for each in report.breaches[:20]))
        sys.stdout.flush()
        if broken:
            break
    return Reached(floor=KILLS_FLOOR, reached=kills, broken=len(broken))
