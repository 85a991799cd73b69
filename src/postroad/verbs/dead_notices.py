"""Tells the operator of messages of endpoints that died: gathered, so that a storm is one event."""

from collections import Counter
from collections.abc import Awaitable, Callable
from math import inf
from typing import Final

from postroad.model.endpoint import OPERATOR, EndpointEntry
from postroad.model.endpoint_life import EndpointRules, LifeEvent
from postroad.ports.clock import Clock
from postroad.ports.events import EventStore
from postroad.verbs.endpoint_turns import EndpointTurns

ENDPOINTS_MAX: Final = 20_000
"""Endpoints that are told of later; the dead of further ones are not told."""
AGAIN_S: Final = 10.0

RulesOf = Callable[[EventStore, EndpointEntry], Awaitable[EndpointRules]]


class DeadNotices:
    """Counts the dead of endpoints, and tells of each endpoint at most once in the time that its
    tenant's rules say. A process that is killed loses what it had not told."""

    def __init__(self, clock: Clock, turns: EndpointTurns, rules_of: RulesOf) -> None:
        self._clock = clock
        self._turns = turns
        self._rules_of = rules_of
        self._counts: Counter[int] = Counter()
        self._next_s: dict[int, float] = {}
        """When an endpoint may be told of again."""

    def add(self, queue: int, count: int) -> None:
        """Count dead messages of an endpoint, by its queue."""
        if count and (queue in self._counts or len(self._counts) < ENDPOINTS_MAX):
            self._counts[queue] += count

    async def tell(self, store: EventStore) -> float:
        """Tell what may be told now; answers when there is more to tell."""
        if not self._counts:
            return inf
        now_s = self._clock.steady_s()
        self._next_s = {one: at_s for one, at_s in self._next_s.items() if at_s > now_s}
        entries = {one.row.queue: one for one in await store.endpoints_of(sorted(self._counts))}
        times = [await self._tell(store, entries.get(queue), queue) for queue in list(self._counts)]
        return min(times, default=inf)

    async def _tell(self, store: EventStore, entry: EndpointEntry | None, queue: int) -> float:
        if entry is None or entry.row.tenant == OPERATOR:  # none is about the way of another
            del self._counts[queue]
            return inf
        every_s = (await self._rules_of(store, entry)).dead_every_s
        now_s, dead = self._clock.steady_s(), self._counts[queue]
        if every_s and (next_s := self._next_s.get(queue, 0.0)) > now_s:
            return next_s
        life = entry.row.life
        if every_s and not await self._turns.turn(entry, life, LifeEvent.dead, dead=dead):
            return now_s + AGAIN_S  # somebody has changed it meanwhile
        del self._counts[queue]
        self._next_s[queue] = now_s + every_s
        return inf
