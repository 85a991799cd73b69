"""Cursors: where the next page of a list starts, and of which list, with which filters."""

from hashlib import blake2b
from typing import Final

import msgspec

from postroad.model.errors import BadCursor, CursorOfAnotherQuery

PRINT_BYTES: Final = 6
SHOWN_CHARACTERS: Final = 64


def cursor(place: str, query: object) -> str:
    """Return the cursor of a page, as users see it. `query`: the list and its filters."""
    return f"{place}.{_fingerprint(query)}"


def place_in(after: str, query: object) -> str:
    """Return the place that a cursor of this query names; "" without a cursor."""
    place, mark, own = after.rpartition(".")
    if not after:
        return ""
    if not mark or len(own) != 2 * PRINT_BYTES:
        raise bad_cursor(after)
    if own != _fingerprint(query):
        raise CursorOfAnotherQuery(
            "after= belongs to another list, or to one with other filters: give the filters of the "
            "page before, or leave it out to begin again"
        )
    return place


def number_in(place: str, after: str, base: int = 10) -> int:
    """Return the number that a place is."""
    try:
        number = int(place, base) if place.isalnum() and len(place) < 20 else -1
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 63:
        raise bad_cursor(after)
    return number


def bad_cursor(after: str) -> BadCursor:
    """The error about a text that no page gave."""
    return BadCursor(
        f"after={after[:SHOWN_CHARACTERS]!r} is not a cursor: give the `after` of the page before, "
        "or leave it out"
    )


def _fingerprint(query: object) -> str:
    return blake2b(msgspec.json.encode(query), digest_size=PRINT_BYTES).hexdigest()
