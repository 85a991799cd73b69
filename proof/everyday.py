"""replay: 10,000 dead while the engine runs. explain: random histories until the time is over."""

import sys
import time
from collections import Counter

from proof.shape import Reached
from tests.verbs.foretelling import foretell
from tests.verbs.replaying import replay_chains

REPLAYS, EXACT_FLOOR = 10_000, 1_000
STEP = 20


def prove_replay(_seconds: float, count: int = REPLAYS) -> Reached:
    """Each has exactly one more chain, in both modes; it takes as long as it takes."""
    replayed, broken = [], list[str]()
    for mode in ("once", "reset"):
        number, breaches = replay_chains(int(time.time()), count, mode)
        replayed.append(number)
        broken += breaches
        sys.stdout.write(f"{number} replayed, mode {mode}, {len(breaches)} broken\n")
    sys.stdout.write("".join(f"{line}\n" for line in broken[:20]))
    return Reached(floor=count, reached=min(replayed), broken=len(broken))


def prove_explain(seconds: float, floor: int = EXACT_FLOOR) -> Reached:
    """What was said to come next against what came: so many exact times, and all the others."""
    first, until_s = int(time.time()), time.monotonic() + seconds
    checked, broken = Counter[str](), list[str]()
    while checked["exact"] < floor or time.monotonic() < until_s:
        more, breaches = foretell(first, STEP)
        first += STEP
        checked += more
        broken += breaches
        sys.stdout.write(f"{checked['exact']} exact times, {len(broken)} broken\n")
    sys.stdout.write("".join(f"{line}\n" for line in broken[:20]))
    return Reached(floor=floor, reached=checked["exact"], broken=len(broken))
