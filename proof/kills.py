"""kills, crash-loop, wal-cuts: what dies, is killed or loses its power loses no message."""

import sys
import time

from proof.shape import Reached
from tests.crash.killing import crash_loop, kill_rounds
from tests.crash.power import power_cuts

KILLS_FLOOR, LOOPS_FLOOR, IMAGES_FLOOR = 150, 8, 1_000
KILLS_STEP, IMAGES_STEP = 25, 250
STEP_S = 300.0
"""A step that takes longer counts for what it reached; the floor is then missed."""
NEIGHBOURS, RESTARTS_MAX = 1_600, 20
POISONED = (("quick", "-"), ("plain", "-"), ("flaky", "-"), ("keys", "a"))


def prove(seconds: float) -> Reached:
    """Kill -9 at random moments that no run has tried before, each with a message in flight."""
    seed = int(time.time())
    until_s = time.monotonic() + seconds
    kills, broken = 0, list[str]()
    while kills < KILLS_FLOOR or time.monotonic() < until_s:
        report = kill_rounds(KILLS_STEP, STEP_S, seed)
        if report.in_flight < KILLS_STEP:
            broken.append(f"only {report.in_flight} kills in {STEP_S} s")
        seed, kills = seed + 1, kills + report.in_flight
        broken += report.breaches
        _say(f"{kills} kills: {report.accepted} accepted, {report.states}", report.breaches)
        if broken:
            break
    return Reached(floor=KILLS_FLOOR, reached=kills, broken=len(broken))


def prove_crash_loop(seconds: float) -> Reached:
    """A message that kills its process, in every kind of handler queue."""
    until_s = time.monotonic() + seconds
    loops, broken = 0, list[str]()
    while loops < LOOPS_FLOOR or time.monotonic() < until_s:
        queue, key = POISONED[loops % len(POISONED)]
        report, _ = crash_loop(NEIGHBOURS, RESTARTS_MAX, queue, key)
        loops += 1
        broken += report.breaches
        _say(f"{queue}: {report.kills} deaths, {report.states}", report.breaches)
    return Reached(floor=LOOPS_FLOOR, reached=loops, broken=len(broken))


def prove_wal_cuts(seconds: float) -> Reached:
    """The power goes at random moments between writes and syncs."""
    seed = int(time.time())
    until_s = time.monotonic() + seconds
    images, broken = 0, list[str]()
    while images < IMAGES_FLOOR or time.monotonic() < until_s:
        report = power_cuts(IMAGES_STEP, STEP_S, seed)
        seed, images = seed + 1, images + report.images
        broken += report.breaches
        _say(f"{images} images, {report.dirty} of {report.images} dirty", report.breaches)
    return Reached(floor=IMAGES_FLOOR, reached=images, broken=len(broken))


def _say(line: str, breaches: list[str]) -> None:
    sys.stdout.write("".join(f"{one}\n" for one in (line, *breaches[:20])))
    sys.stdout.flush()
