"""cron-days: days of cron in three engines that crash, until the time is over."""

import sys
import time

from proof.shape import Reached
from tests.verbs.ticking import cron_days

TICKS_FLOOR = 2_000
POLICIES = ("latest", "all", "skip")


def prove(seconds: float) -> Reached:
    """Every tick is noted, and none came twice; fresh seeds every time."""
    seed = int(time.time())
    until_s = time.monotonic() + seconds
    ticks, broken = 0, list[str]()
    while ticks < TICKS_FLOOR or time.monotonic() < until_s:
        more, breaches = cron_days(seed, 1, POLICIES[seed % 3])
        seed, ticks = seed + 1, ticks + more
        broken += breaches
        sys.stdout.write(f"{ticks} ticks, {len(broken)} broken\n")
    sys.stdout.write("".join(f"{line}\n" for line in broken))
    return Reached(floor=TICKS_FLOOR, reached=ticks, broken=len(broken))
