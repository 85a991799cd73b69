"""Turns rows of `fetch` and of a claim into readings."""

from collections.abc import Iterable, Sequence
from typing import Final

from asyncpg import Record

from postroad.model.entities import Message, Rung
from postroad.model.record import Reading, Want
from postroad.model.states import NEVER

READ_BYTES_MAX: Final = 4 << 20
"""The most bytes of one reading, as in read_large: bodies may be a megabyte each."""
# Columns by their places: by name they cost twice as much.
DUE: Final = 8
BODY: Final = 11
HEADERS: Final = 12
WANT: Final = 13
LEVEL, PRIORITY, SLOT, READY = 14, 15, 16, 17
FIRST: Final = 2
"""How many messages of a rung come with a claim: two, so that one shows that it was the last."""
RUNGS_MAX: Final = 512
"""Maximum rungs that are returned, as in the function claim."""


class RungReading:
    """Collects the rows of one want."""

    __slots__ = ("large", "messages", "next_due_ms", "over")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.next_due_ms = NEVER
        self.over = False
        """An order group's head is not due: what lies behind it does not count."""
        self.large = False
        """Some bodies are too large to come along with all the others."""

    def add_bare(self, row: Record) -> None:
        """A row that came without its body."""
        if row[HEADERS] is not None:
            self.large = True
        else:
            self.next_due_ms = row[DUE]
            self.over = row[0] > 0

    def reading(self, want: Want) -> Reading:
        """The reading that the rows give."""
        full = len(self.messages) >= want.limit
        if not full and len(self.messages) > 4:
            full = sum(len(message.body) for message in self.messages) > READ_BYTES_MAX
        return Reading(want.rung, self.messages, NEVER if full else self.next_due_ms, full)


def found_in(rows: Iterable[Record], wants: Sequence[Want]) -> list[RungReading]:
    """The readings of the rows, want by want."""
    all_found = [RungReading() for _ in wants]
    for row in rows:
        found = all_found[row[WANT] - 1]
        if found.over:
            continue
        if row[BODY] is None:
            found.add_bare(row)
        else:
            found.messages.append(Message(*row[:WANT]))
    return all_found


def first_in(rows: Iterable[Record]) -> tuple[dict[int, list[Rung]], dict[int, Reading]]:
    """The rungs that came with a claim, by lane, and the first messages of each that is not
    ordered, unless its bodies are large."""
    rungs: dict[int, list[Rung]] = {}
    readings: dict[int, Reading] = {}
    last = 0
    for row in rows:
        number, queue, lane = row[1], row[2], row[3]
        if number != last:
            last = number
            rung = Rung(number, lane, queue, row[LEVEL], row[PRIORITY], row[SLOT], row[READY])
            rungs.setdefault(lane, []).append(rung)
            if rung.order_group == 0 and row[WANT] <= RUNGS_MAX:
                readings[number] = Reading(number, [], NEVER, full=False)
        reading = readings.get(number)
        if row[0] is None or reading is None:
            continue
        if row[BODY] is not None:
            reading.messages.append(Message(*row[:WANT]))
            if len(reading.messages) == FIRST:
                readings[number] = Reading(number, reading.messages, NEVER, full=True)
        elif row[HEADERS] is not None:
            del readings[number]  # its body is too large to come along
        elif reading.next_due_ms == NEVER:  # of two that are not due the first counts
            readings[number] = Reading(number, reading.messages, row[DUE], full=False)
    return rungs, readings
