"""Event types: their names, what they are for, and the JSON Schema of their bodies."""

from typing import Final

from msgspec import Struct

DESCRIPTION_MAX: Final = 2_000


class EventType(Struct, frozen=True):
    """A type of events. Bodies that do not fit its schema are refused, or with `warn` published
    and told of."""

    name: str
    description: str = ""
    schema: dict[str, object] | None = None
    warn: bool = False
    archived: bool = False


class EventTypes(Struct, frozen=True):
    """All event types of a road, as of a version."""

    version: int
    types: list[EventType]
