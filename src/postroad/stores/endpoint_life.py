"""The life of endpoints: what both databases read alike."""

from typing import Final

import msgspec

from postroad.model.endpoint import EndpointEntry, EndpointLife
from postroad.model.endpoint_life import EndpointRules, Turn
from postroad.model.ids import first_after
from postroad.model.states import NEVER
from postroad.ports.endpoint_life import HourCounts
from postroad.stores.events import read_entry
from postroad.stores.statements import Statements, Value

RULES: Final = msgspec.json.Decoder(EndpointRules)
LABEL: Final = "endpoints"


def turn_values(turn: Turn) -> tuple[Value, ...]:
    """The columns that a turn writes."""
    life: EndpointLife = turn.life
    state = (life.state, life.disabled_by, life.reason, life.changed_at_ms, life.noticed_at_ms)
    times = (life.spell_since_ms, life.draining_since_ms, life.secret_notice_ms)
    return (*state, *times, turn.failing_since_ms)


class EndpointLifeTables(Statements):
    """Reads the life of endpoints."""

    async def endpoints_watched(
        self, after: int, limit: int, *, feeds: bool
    ) -> list[EndpointEntry]:
        """Endpoints that are not simply enabled and healthy, and feeds."""
        rows = await self.select(LABEL, "endpoints_watched", after, limit, feeds)
        return [read_entry(row) for row in rows]

    async def endpoint_hours(self, number: int, since_ms: int, until_ms: int) -> list[HourCounts]:
        """The hours of an endpoint, the oldest first."""
        rows = await self.select(LABEL, "endpoint_hours", number, since_ms, until_ms)
        return [(at_ms, tuple(counts)) for at_ms, *counts in rows]

    async def endpoint_backlog(self, queue: int, most: int = NEVER) -> tuple[int, int, int]:
        """How many messages wait in a queue, and when the oldest ones were accepted."""
        ((count, *oldest_ms),) = await self.select(LABEL, "endpoint_backlog", queue, most)
        return count, oldest_ms[0], oldest_ms[1]

    async def endpoint_held_head(self, queue: int) -> int | None:
        """The exhausted message that holds back the order group of a queue."""
        row = await self.first(LABEL, "endpoint_held_head", queue)
        return int(row[0]) if row else None

    async def endpoint_excess(
        self, queue: int, edge_ms: int, most: int, limit: int
    ) -> list[tuple[int, bool]]:
        """What is held for too long, and the oldest of too many."""
        values = (queue, first_after(edge_ms), most, limit)
        rows = await self.select(LABEL, "endpoint_excess", *values)
        return [(number, bool(aged)) for number, aged in rows]

    async def endpoint_rules(self, tenant: str) -> EndpointRules:
        """The rules of a tenant, else those of all, else the usual ones."""
        row = await self.first(LABEL, "endpoint_rules", tenant)
        return RULES.decode(row[0]) if row else EndpointRules()

    async def endpoint_rules_put(self, tenant: str, rules: EndpointRules) -> None:
        """Store the rules of a tenant, or of all."""
        await self.execute(LABEL, "endpoint_rules_put", tenant, msgspec.json.encode(rules))

    async def _entries(self, queues: Value) -> list[EndpointEntry]:
        rows = await self.select(LABEL, "endpoints_of", queues)
        return [read_entry(row) for row in rows]
