"""hub-kills: a hub that is killed in mid-traffic loses nothing, and repeats only what was not acked.
hub-orders: commands in every order that chance finds."""

import sys
import tempfile
import time
from pathlib import Path

from proof.shape import Reached
from tests.hub.killing import kill_rounds
from tests.hub.test_interleavings import interleave
from tests.hub.test_rules_machine import compare_rules

FLOOR, STEP = 20, 5
ORDERS = 1_000


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


def prove_orders(_seconds: float, examples: int = ORDERS) -> Reached:
    """Nothing is lost, repeated or early, and the hub does what a naive model of it does."""
    reached, broken = 0, list[str]()
    for live in (interleave, compare_rules):
        try:
            live(examples)
            reached += examples
        except Exception as error:  # noqa: BLE001 - every kind of failure is a finding
            broken.append(f"{live.__name__}: {error}")
    sys.stdout.write("".join(f"{line}\n" for line in broken))
    return Reached(floor=2 * examples, reached=reached, broken=len(broken))
