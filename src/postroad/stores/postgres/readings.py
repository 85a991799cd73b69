"""Rows of fetch_v2, and of a claim, as readings."""

from collections.abc import Iterable, Sequence
from typing import Final

from asyncpg import Record

from postroad.model.record import Reading, Want
from postroad.model.states import NEVER
from postroad.model.words import Message

READ_BYTES_MAX: Final = 4 << 20
"""One reading stops here, as in fetch_v1: bodies may be a megabyte each."""
# Columns by their places: by name they cost twice as much.
DUE: Final = 8
BODY: Final = 11
HEADERS: Final = 12
WANT: Final = 13


class Found:
    """What was found of one want."""

    __slots__ = ("large", "messages", "next_due_ms", "over")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.next_due_ms = NEVER
        self.over = False
        """An ordered slot's head is not due: what lies behind it does not count."""
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
        """As an answer."""
        full = len(self.messages) >= want.limit
        if not full and len(self.messages) > 4:
            full = sum(len(message.body) for message in self.messages) > READ_BYTES_MAX
        return Reading(want.rung, self.messages, NEVER if full else self.next_due_ms, full)


def found_in(rows: Iterable[Record], wants: Sequence[Want]) -> list[Found]:
    """What the rows say, want by want."""
    all_found = [Found() for _ in wants]
    for row in rows:
        found = all_found[row[WANT] - 1]
        if found.over:
            continue
        if row[BODY] is None:
            found.add_bare(row)
        else:
            found.messages.append(Message(*row[:WANT]))
    return all_found
