"""What a store keeps for events: endpoints, event types, and events with their bodies."""

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.endpoint import EndpointEntry, EndpointRow, EndpointSet, MoveState
from postroad.model.entities import LaneKey
from postroad.model.event import EventArrival, EventRow, Publish, Published
from postroad.model.event_types import EventType, EventTypes
from postroad.model.webhook import HookRow
from postroad.ports.endpoint_life import EndpointLifeStore


class EndpointStore(Protocol):
    """A store with endpoints. Every change raises the version of its tenant's set."""

    async def endpoint_put(self, row: EndpointRow, hook: HookRow) -> bool:
        """Store an endpoint and the settings of its queue in one transaction; False when it is not
        of the version before this one any more."""

    async def endpoint_move(self, row: EndpointRow, hook: HookRow, lane: LaneKey) -> MoveState:
        """Store an endpoint and move its queue to this lane, with all that waits or is dead, in one
        transaction. While the lane that it has is owned, its owner is asked to give it back."""

    async def endpoint_drop(self, tenant: str, number: int) -> bool:
        """Delete an endpoint and the settings of its queue; False when there is none."""

    async def endpoint_page(self, tenant: str, after: int, limit: int) -> list[EndpointEntry]:
        """List a tenant's endpoints in order of id, from after one on."""

    async def endpoint_expiring(self, limit: int) -> list[tuple[int, str, int]]:
        """List the endpoints that expire first: when, their tenant and id."""

    async def endpoint_set(self, tenant: str) -> EndpointSet:
        """Read the endpoints of a tenant that get events, and the version of that set."""


@runtime_checkable
class EventStore(EndpointStore, EndpointLifeStore, Protocol):
    """A store with events. A road on RabbitMQ has none."""

    async def event_type_put(self, kinds: Sequence[EventType]) -> None:
        """Store event types in one transaction, and raise the version of their set."""

    async def event_types(self) -> EventTypes:
        """Read all event types, and the version of that set."""

    async def event_types_version(self) -> int:
        """Read the version of that set alone."""

    async def publish(self, publish: Publish) -> Published:
        """Store an event and its messages in one transaction, unless a set has changed since it
        was matched, or its key was used within a day."""

    async def publish_in(self, connection: object, publish: Publish) -> Published | None:
        """Store an event if the caller's transaction commits. None: it is matched after that, by
        who moves arrivals; else as `publish`."""

    async def event_page(self, tenant: str, before: int, limit: int) -> list[EventRow]:
        """List a tenant's events without their bodies, the newest first, from before one on."""

    async def events_unmatched(self, tenant: str) -> list[tuple[str, int, int]]:
        """Count the events that no endpoint matched: type, how many, the last one's id."""

    async def event(self, tenant: str, number: int) -> EventRow | None:
        """Read an event of a tenant with its body."""


@runtime_checkable
class EventArrivals(Protocol):
    """A store where events that were published inside callers' transactions are matched later."""

    events_arrived: asyncio.Event
    """Set when there may be some."""

    async def event_arrivals(self, limit: int) -> list[EventArrival]:
        """List the oldest ones."""

    async def publish_arrival(self, number: int, publish: Publish) -> Published | None:
        """Publish one of them, as `publish`; None: another process has it, or an older one of its
        tenant comes first."""
