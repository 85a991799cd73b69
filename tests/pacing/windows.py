"""How much a stretch of time holds."""

from collections.abc import Sequence

from postroad.model.pace import Limit


def most_in_a_window(at: Sequence[float], length: float) -> int:
    """The most of these times, which are in order, in any stretch [t, t + length)."""
    return most_cost([(time, 1) for time in at], length)


def most_cost(starts: Sequence[tuple[float, int]], length: float) -> int:
    """The most that starts, which are in order of time, cost in any stretch [t, t + length)."""
    most = total = first = 0
    for time, cost in starts:
        total += cost
        while starts[first][0] <= time - length:
            total -= starts[first][1]
            first += 1
        most = max(most, total)
    return most


def breaches(limit: Limit, starts: Sequence[tuple[float, int]]) -> list[str]:
    """Each window of a limit that some stretch was over; times in microseconds."""
    ordered = sorted(starts)
    found = [(window, most_cost(ordered, window.length_us)) for window in limit.windows]
    return [
        f"{most} in a stretch of {window.length_us / 1e6:g} s that allows {window.most}"
        for window, most in found
        if most > window.most
    ]
