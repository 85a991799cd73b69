"""blocked-claim: a claim takes as many steps beside 1,000 blocked messages as beside a million."""

import sys

from proof.shape import Reached
from tests.contract.blocked import vm_steps_of_claim

FEW, MANY = 1_000, 1_000_000
FLOOR = 0.9


def prove(_seconds: float, few: int = FEW, many: int = MANY) -> Reached:
    """How alike the two are, 1 being the same number of SQLite's VM steps; it takes as long as it
    takes to store the messages, about half a minute.
    """
    steps = {count: vm_steps_of_claim(count) for count in (few, many)}
    for count, taken in steps.items():
        sys.stdout.write(f"beside {count:,} blocked messages: {taken:,} VM steps\n")
    alike = 1 - abs(steps[many] / steps[few] - 1)
    return Reached(floor=FLOOR, reached=round(alike, 4), broken=0)
