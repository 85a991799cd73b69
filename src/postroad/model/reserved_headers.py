"""Headers of messages that the road alone sets: what they say is believed."""

from collections.abc import Iterable, Mapping
from typing import Final

from postroad.model.errors import BadInput
from postroad.model.hours import ZONE, check_zone
from postroad.model.recipients import TO

OURS: Final = "postroad-"


def check_reserved(names: Iterable[str]) -> None:
    """Refuse headers that no sender may give."""
    for name in names:
        lower = name.lower()
        if not lower.startswith(OURS) or lower == ZONE:
            continue
        if lower == TO:
            raise BadInput(f"headers: {TO!r} is ours: send to an address, as sms:+6591234567")
        raise BadInput(
            f"headers: {name[:80]!r} is ours, as all that begin with {OURS!r}: leave it out"
        )


def check_zone_header(headers: Mapping[str, str]) -> None:
    """Refuse a time zone that there is not, as messages that are sent with one do."""
    for name, value in headers.items():
        if name.lower() == ZONE:
            _ = check_zone(value)  # raises
