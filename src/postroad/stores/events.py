"""Endpoints, event types and events: what both databases read alike."""

from typing import Final

import msgspec
from msgspec.structs import replace

from postroad.model.endpoint import (
    DELETING,
    EndpointEntry,
    EndpointLife,
    EndpointRow,
    EndpointSet,
)
from postroad.model.entities import Policy
from postroad.model.event import EventRow
from postroad.model.event_types import EventType, EventTypes
from postroad.stores.statements import Row, Statements

POLICY: Final = msgspec.json.Decoder(Policy)
SCHEMA: Final = msgspec.json.Decoder(dict[str, object])
ALL: Final = 1 << 62
OWN: Final = 8
"""The columns of an endpoint before those of its life."""
TYPES: Final = ""
"""The set of event types, beside those of tenants."""


def read_entry(row: Row) -> EndpointEntry:
    """An endpoint from its row."""
    *own, policy, lane, gone = row
    about = replace(EndpointRow(*own[:OWN]), life=EndpointLife(*own[OWN:]))
    return EndpointEntry(about, POLICY.decode(policy), lane, gone)


def read_type(row: Row) -> EventType:
    """An event type from its row."""
    name, description, schema, warn, archived = row
    known = None if schema is None else SCHEMA.decode(schema)
    return EventType(name, description, known, bool(warn), bool(archived))


def type_row(kind: EventType) -> tuple[str, str, bytes | None, bool, bool]:
    """The row of an event type."""
    schema = None if kind.schema is None else msgspec.json.encode(kind.schema)
    return kind.name, kind.description, schema, kind.warn, kind.archived


class EventTables(Statements):
    """Reads endpoints, event types and events."""

    async def endpoint_page(self, tenant: str, after: int, limit: int) -> list[EndpointEntry]:
        """A tenant's endpoints in order of id."""
        rows = await self.select("events", "endpoint_page", tenant, after, limit)
        return [read_entry(row) for row in rows]

    async def endpoint_set(self, tenant: str) -> EndpointSet:
        """The endpoints of a tenant that get events. A change between the two readings makes the
        version old, so that the commit of a publish refuses what was matched against it."""
        version = await self._version(tenant)
        found = await self.endpoint_page(tenant, 0, ALL)
        return EndpointSet(version, [each for each in found if each.row.life.state != DELETING])

    async def endpoint_expiring(self, limit: int) -> list[tuple[int, str, int]]:
        """The endpoints that expire first."""
        rows = await self.select("events", "endpoint_expiring", limit)
        return [(at_ms, tenant, number) for at_ms, tenant, number in rows]

    async def event_types(self) -> EventTypes:
        """All event types, read in the same order."""
        version = await self._version(TYPES)
        rows = await self.select("events", "event_types")
        return EventTypes(version, [read_type(row) for row in rows])

    async def event_types_version(self) -> int:
        """The version of the set of all event types."""
        return await self._version(TYPES)

    async def event_page(self, tenant: str, before: int, limit: int) -> list[EventRow]:
        """A tenant's events without their bodies, the newest first."""
        rows = await self.select("events", "event_page", tenant, before, limit)
        return [EventRow(*row) for row in rows]

    async def events_unmatched(self, tenant: str) -> list[tuple[str, int, int]]:
        """How many events of each type no endpoint matched, and the last one."""
        rows = await self.select("events", "events_unmatched", tenant)
        return [(kind, int(count), last) for kind, count, last in rows]

    async def event(self, tenant: str, number: int) -> EventRow | None:
        """An event of a tenant with its body."""
        row = await self.first("events", "event_read", tenant, number)
        return EventRow(*row) if row else None

    async def _version(self, tenant: str) -> int:
        row = await self.first("events", "set_version", tenant)
        return int(row[0]) if row else 0
