"""How much later one kind of part is than another: p99 of each part, compared with its neighbour's.

Lateness comes in clusters (a commit, a moment of the machine), so parts are what is compared and
drawn again, never single messages ([decision 036](../docs/decisions) has the control)."""

import random
from collections.abc import Sequence
from math import exp, log
from statistics import fmean

from msgspec import Struct

Part = Sequence[int]
"""How late each was, in µs."""
DRAWS = 2_000
SEED = 36
"""The same parts give the same interval."""


class Ratio(Struct, frozen=True):
    """One kind over another, and where nine of ten such measures lie."""

    value: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.2f} to {self.high:.2f}, {self.pairs} pairs of parts)"


def p99_us(late_us: Part) -> int:
    """Of a hundred, one is later."""
    return sorted(late_us)[int(len(late_us) * 0.99)]


def over(first: Sequence[Part], second: Sequence[Part]) -> Ratio:
    """The geometric mean of p99 over p99, each part with the one beside it in time; the interval
    is from drawing whole pairs again."""
    logs = [log(p99_us(one) / p99_us(other)) for one, other in zip(first, second, strict=True)]
    dice = random.Random(SEED)
    means = sorted(fmean(dice.choices(logs, k=len(logs))) for _ in range(DRAWS))
    low, high = means[DRAWS // 20], means[-DRAWS // 20]
    return Ratio(exp(fmean(logs)), exp(low), exp(high), len(logs))


def over_itself(parts: Sequence[Part]) -> Ratio | None:
    """The control: parts of one kind, each over the next of its kind. What this is beside 1 is the
    measure's own noise. None where there are not two."""
    half = len(parts) // 2
    return over(parts[: 2 * half : 2], parts[1 : 2 * half : 2]) if half else None
