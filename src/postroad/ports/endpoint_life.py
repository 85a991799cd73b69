"""What a store keeps about the life of endpoints: states, spells of failures, counts by hour."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.endpoint import EndpointEntry
from postroad.model.endpoint_life import EndpointHour, EndpointRules, Turn, Turned
from postroad.model.states import NEVER

HourCounts = tuple[int, tuple[int, ...]]
"""When an hour began, and its counts."""


class EndpointLifeStore(Protocol):
    """A store with the life of endpoints."""

    async def endpoint_turn(self, turn: Turn) -> Turned:
        """Change an endpoint's life, pause or resume its queue, and store the operational event, in
        one transaction."""

    async def endpoint_count(self, hours: Sequence[EndpointHour]) -> None:
        """Add counts to the hours of endpoints, and write where a spell of failures began or ended.
        Queues that are no endpoints' are left out."""

    async def endpoints_of(self, queues: Sequence[int]) -> list[EndpointEntry]:
        """Read endpoints by their queues."""

    async def endpoints_watched(
        self, after: int, limit: int, *, feeds: bool
    ) -> list[EndpointEntry]:
        """List endpoints of all tenants that are not simply enabled and healthy, by id; `feeds`:
        and all those that are read."""

    async def endpoint_hours(self, number: int, since_ms: int, until_ms: int) -> list[HourCounts]:
        """Read the hours of an endpoint, the oldest first."""

    async def endpoint_backlog(self, queue: int, most: int = NEVER) -> tuple[int, int, int]:
        """How many messages wait in a queue, up to `most`; when the oldest of them was accepted
        (0: none), and the oldest of those on the lowest level."""

    async def endpoint_held_head(self, queue: int) -> int | None:
        """Find the exhausted message that holds back the order group of a queue."""

    async def endpoint_excess(
        self, queue: int, edge_ms: int, most: int, limit: int
    ) -> list[tuple[int, bool]]:
        """List a queue's messages, the oldest first, that were accepted before a time, and the
        oldest of more than `most` (0: any number); each with whether it is of the former."""

    async def endpoint_bury(self, number: int, messages: Sequence[int], reason: str) -> int:
        """Move messages that are held for an endpoint to the dead set, unless it is not disabled
        any more. Answers how many."""

    async def endpoint_rules(self, tenant: str) -> EndpointRules:
        """The rules of a tenant, else those of all, else the usual ones."""

    async def endpoint_rules_put(self, tenant: str, rules: EndpointRules) -> None:
        """Store the rules of a tenant, or (`*`) of all that have none."""
