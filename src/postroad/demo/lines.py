"""What the demo shows where there is no terminal, or no library to draw on it: plain lines."""

import sys
from typing import Final, Self

from postroad.demo.recipients import LADDER
from postroad.demo.tally import DemoCounts
from postroad.demo.watch import RoadSnapshot, news, short, spell

EVERY_S: Final = 2.0


class PlainScreen:
    """Prints what is new, and every two seconds how far it is."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._last: RoadSnapshot | None = None
        self._said_s = -EVERY_S * speed

    def __enter__(self) -> Self:
        say(heading_line(self._speed))
        return self

    def __exit__(self, *_: object) -> None:
        """Leave what was printed."""

    def show(self, snapshot: RoadSnapshot) -> None:
        """Show one snapshot."""
        lines = news(self._last, snapshot) if self._last else []
        self._last = snapshot
        if snapshot.since_start_s - self._said_s >= EVERY_S * self._speed:
            self._said_s = snapshot.since_start_s
            lines = [*lines, plain_line(snapshot)]
        for line in lines:
            say(f"{spell(snapshot.since_start_s):>5}  {line}")


def say(line: str) -> None:
    """Print a line at once, also into a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def heading_line(speed: float) -> str:
    """What is going on here, and what is not as in life."""
    *delays, last = [LADDER.delay_ms(level) // 1000 for level in range(1, LADDER.retries + 1)]
    shortened = f"{', '.join(map(str, delays))} and {last} s"
    return f"Postroad, time × {speed:g}, retries shortened to {shortened}"


def plain_line(snapshot: RoadSnapshot) -> str:
    """The live view in one line."""
    return (
        f"{snapshot.accepted} of {snapshot.to_send} accepted, {snapshot.delivered} delivered, "
        f"{snapshot.dead} dead, {snapshot.waiting} waiting"
    )


def summary(count: DemoCounts) -> str:
    """Summarise the run from the reopened file."""
    tries = sum(tries for _, _, tries in count.climbs)
    ends = [f"{delivered} after {failed}" for failed, delivered, _ in count.climbs]
    ends[:1] = [f"{ends[0]} failures"] if ends else ["none"]
    lines = [
        f"By the reopened file: {count.delivered} delivered in {tries} tries: {', '.join(ends)}."
    ]
    lines += [
        f"Dead: {death.count} for {short(death.queue)}, {death.reason}: {death.error}."
        for death in count.deaths
    ]
    if count.waiting:
        lines.append(f"Still waiting, not lost: {count.waiting}.")
    return "\n".join(["", *lines, ""])
