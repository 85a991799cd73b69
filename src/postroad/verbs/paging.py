"""Limits of pages, and the times that narrow them."""

from datetime import datetime
from typing import Final

from postroad.model.errors import BadInput, BadTime
from postroad.model.states import NEVER

PAGE_MAX: Final = 500


def check_page(limit: int, most: int = PAGE_MAX) -> None:
    """Raise BadInput if a page may not have this many rows."""
    if not 1 <= limit <= most:
        raise BadInput(f"limit={limit}: give 1 to {most}, and page with `after`")


def check_most(most: int) -> int:
    """How far messages are counted; BadInput if that is no positive number."""
    if not 1 <= most <= NEVER:
        raise BadInput(f"most={most}: give 1 or more, or leave it out to count all")
    return most


def span_ms(
    since: datetime | None, until: datetime | None, otherwise: tuple[int, int] = (0, NEVER)
) -> tuple[int, int]:
    """Two times in milliseconds since 1970; BadTime if they are not in order."""
    since_ms = moment_ms(since, "since", otherwise[0])
    until_ms = moment_ms(until, "until", otherwise[1])
    if since_ms >= until_ms:
        raise BadTime("since is not before until: give the earlier time as since")
    return since_ms, until_ms


def moment_ms(moment: datetime | None, name: str, otherwise: int) -> int:
    """A time in milliseconds since 1970; BadTime if it has no time zone."""
    if moment is None:
        return otherwise
    if moment.tzinfo is None:
        raise BadTime(f"{name} has no time zone: give one, for example datetime.now(timezone.utc)")
    return int(moment.timestamp() * 1000)
