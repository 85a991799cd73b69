"""simulation: fresh worlds with faults until the time is over; each one keeps every promise."""

import sys
import time

from proof.shape import Reached
from tests.rig.swarm import limited_swarm
from tests.sim.seeds import broken_seeds, unsteady_seeds
from tests.verbs.cancelling import cancel_races

WORLDS_FLOOR, LIMITED_FLOOR, TWICE_FLOOR, RACES_FLOOR = 200, 50, 50, 1_000
STEP = 50


def prove(seconds: float) -> Reached:
    """As many seeds as the time allows, never the same ones again; fifty under limits, and fifty
    lived twice."""
    first = int(time.time())
    until_s = time.monotonic() + seconds
    unsteady = unsteady_seeds(first, TWICE_FLOOR)
    broken = [f"seed {seed} differs when lived again" for seed in unsteady]
    broken += broken_seeds(first, LIMITED_FLOOR, limited_swarm)
    worlds = 0
    while worlds < WORLDS_FLOOR or time.monotonic() < until_s:
        broken += broken_seeds(first + worlds, STEP)
        worlds += STEP
        sys.stdout.write(f"{worlds} worlds, {len(broken)} broken\n")
    sys.stdout.write("".join(f"{line}\n" for line in broken))
    return Reached(floor=WORLDS_FLOOR, reached=worlds, broken=len(broken))


def prove_cancel(seconds: float) -> Reached:
    """Cancels that race claims, until the time is over."""
    first = int(time.time())
    until_s = time.monotonic() + seconds
    races, broken = 0, list[str]()
    while races < RACES_FLOOR or time.monotonic() < until_s:
        more, breaches = cancel_races(first, worlds=10, messages=30)
        first, races = first + 10, races + more
        broken += breaches
        sys.stdout.write(f"{races} races, {len(broken)} broken\n")
    return Reached(floor=RACES_FLOOR, reached=races, broken=len(broken))
