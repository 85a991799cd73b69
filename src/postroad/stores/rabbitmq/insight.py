"""Answers questions about messages in the broker, from memory and from the state store."""

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec.structs import replace

from postroad.model.broker import BrokerFacts
from postroad.model.facts import (
    LaneFacts,
    LaneState,
    Live,
    MessageFacts,
    Owner,
    QueueFacts,
    StoreFacts,
    Tally,
)
from postroad.model.holds import because_of, because_of_all
from postroad.model.overview import WHOLE_PAGE, LaneRow, MessageCount, Overview, PageOf, QueueRow
from postroad.model.states import NEVER, State
from postroad.model.webhook import Attempt
from postroad.ports.usage import CountedKind, Slice
from postroad.stores.rabbitmq.base import RabbitBase
from postroad.stores.rabbitmq.consuming.delivery import DeliveredMessage
from postroad.stores.rabbitmq.state.broker_state import MessagePlace, WaitingGroup
from postroad.stores.webhooks import read_attempt

OTHERS_MAX: Final = 1_000
Sum = tuple[int, int]
R = TypeVar("R", LaneRow, QueueRow)
K = TypeVar("K")


class RabbitWaiting(RabbitBase):
    """Combines what the state store has rows for with what is only in memory."""

    async def waiting_groups(self, queue: int = 0, lane: int = 0) -> list[WaitingGroup]:
        """What is known to wait of a queue, of a lane, or of all. Messages that were sent to be
        tried at once and are still in the broker are not included: the broker can only count
        them."""
        found = await self.broker_state.waiting_groups(queue, lane, self.clock.now_ms())
        for entry in self.delivered.messages.values():
            m = entry.message
            if not entry.has_row and queue in (0, m.queue) and lane in (0, m.lane):
                found.append(self._wait(entry))
        return found

    def _wait(self, entry: DeliveredMessage) -> WaitingGroup:
        m = entry.message
        queue, lane = self.delivered.queues[m.queue], self.delivered.lanes[m.lane]
        because = because_of(
            queue, self.clock.now_ms(), lane_paused=lane.paused, circuit=lane.circuit
        )
        who = (queue.id, queue.tenant, queue.name, lane.id, lane.key.transport)
        return WaitingGroup(*who, m.level, because, 1, m.due_ms)

    def owner_of(self, lane: int) -> Owner | None:
        """The owner of a lane, if it is in this process."""
        memory_lane = self.delivered.memory_lanes.get(lane)
        if memory_lane is None or memory_lane.owner is None:
            return None
        heard_at_ms = self._owners.get(memory_lane.owner, 0)
        return Owner(memory_lane.owner, socket.gethostname(), os.getpid(), heard_at_ms)

    def owned(self, lane: LaneState) -> LaneState:
        """A lane with the owner and the crashes that this process knows."""
        memory_lane = self.delivered.memory_lanes.get(lane.id)
        crashes = memory_lane.crashes if memory_lane is not None else lane.crashes
        return replace(lane, owner=self.owner_of(lane.id), crashes=crashes)


class RabbitInsight(RabbitWaiting):
    """Reads messages, queues and lanes, the usage of tenants, and the state of the broker."""

    async def store_facts(self) -> StoreFacts:
        """What the state store is: the broker tells of itself in its own facts."""
        return await self.state.store_facts()

    async def counts(self) -> dict[str, int]:
        """Messages by state. Those in the broker count as waiting."""
        counts = await self.state.counts()
        ready = sum(await asyncio.gather(*map(self.broker.ready_count, self.broker.broker_queues)))
        held = sum(group.count for group in await self.waiting_groups() if group.because)
        counts["waiting"] += max(0, ready + len(self.delivered.messages) - held)
        counts["held"] += held
        counts["dead"] += await self.broker.ready_count(self.topology.dead)
        return counts

    async def message_facts(self, tenant: str | None, number: int) -> MessageFacts | None:
        """Everything that is known about a tenant's message."""
        facts = await self.state.message_facts(tenant, number)
        if facts is not None:
            return facts
        entry = self.delivered.messages.get(number)
        place = _place_of(entry) if entry is not None else await self.broker_state.place_of(number)
        place = place or self._sent(number)
        if place is None:  # it may have finished since the first question
            return await self.state.message_facts(tenant, number)
        if tenant not in (None, place.tenant):
            return None
        queue = await self.state.queue_facts(place.tenant, place.queue)
        if queue is None:  # pragma: no cover - its row names the queue
            return None
        lane = next((self.owned(lane) for lane in queue.lanes if lane.id == place.lane), None)
        others = await self._others_due(place)
        times = (place.due_ms, place.expires_at_ms)
        live = Live(place.level, place.attempts, *times, False, "", 0, others)
        return MessageFacts(
            number,
            place.accepted_at_ms,
            queue.queue,
            queue.paused_at_ms,
            await self.broker_state.tries(number),
            live=live,
            lane=lane,
            paces=queue.paces,
        )

    def _sent(self, number: int) -> MessagePlace | None:
        sent = self.recent.get(number)
        queue = None if sent is None else self.queue_cache.known(sent[0])
        if sent is None or queue is None:
            return None
        return MessagePlace(queue.tenant, queue.name, sent[1], 0, 0, *sent[2:])

    async def _others_due(self, place: MessagePlace) -> int:
        """How many messages of its lane may go before it, as far as is known."""
        by_ms = max(place.due_ms, self.clock.now_ms())
        others = [
            group.count
            for group in await self.waiting_groups(lane=place.lane)
            if group.oldest_due_ms <= by_ms and not group.because
        ]
        return min(max(0, sum(others) - 1), OTHERS_MAX)

    async def attempts(self, tenant: str, message: int) -> list[Attempt]:
        """The tries of a tenant's message, in order."""
        if await self.message_facts(tenant, message) is None:
            return []
        return [
            read_attempt(row) for row in await self.state.select("insight", "tries_of", message)
        ]

    async def queue_facts(self, tenant: str, name: str, most: int = NEVER) -> QueueFacts | None:
        """A queue, its lanes, and what is known to wait in them."""
        facts = await self.state.queue_facts(tenant, name, most)
        if facts is None:
            return None
        waiting_groups = await self.waiting_groups(queue=facts.queue.id)
        lanes = tuple(self.owned(lane) for lane in facts.lanes)
        return replace(facts, lanes=lanes, tallies=facts.tallies + _tallies(waiting_groups))

    async def lane_backlog(self, lane: int, most: int) -> int:
        """Count what is known to wait in a lane, up to a number."""
        return min(most, sum(group.count for group in await self.waiting_groups(lane=lane)))

    async def lane_facts(self, number: int, most: int = NEVER) -> LaneFacts | None:
        """A lane and what is known to wait in it."""
        facts = await self.state.lane_facts(number, most)
        if facts is None:
            return None
        waiting_groups = await self.waiting_groups(lane=number)
        lane = self.owned(facts.lane)
        return replace(facts, lane=lane, tallies=facts.tallies + _tallies(waiting_groups))

    async def tenant_has(self, kept: CountedKind, tenant: str, most: int) -> int:
        """Count what a tenant has, up to `most`; of what waits, as much as is known here."""
        count = await self.queue_cache.tenant_has(kept, tenant, most)
        if kept is CountedKind.waiting:
            groups = [group for group in await self.waiting_groups() if group.tenant == tenant]
            count = min(most, count + sum(group.count for group in groups))
        return count

    async def stored(self, after: int, limit: int) -> Slice:  # noqa: ARG002
        """Count nothing: messages are in the broker, which does not know tenants."""
        return Slice([], 0)

    async def broker_facts(self) -> BrokerFacts:
        """The state of the broker, as this process sees it."""
        self._check_open()
        connection = self.broker.publisher.supervisor.connection
        fleet, counts = self.housekeeping.fleet, self.catch_all.counts
        return BrokerFacts(
            version=connection.server.version if connection is not None else "",
            blocked=self.broker.publisher.blocked,
            workers=len(fleet.workers) if fleet.settled.is_set() else 0,
            shards=len(fleet.mine),
            dead_waiting=await self.broker.ready_count(self.topology.dead),
            lost_waiting=await self.broker.ready_count(self.topology.lost),
            lost_sent_on=counts.sent_on,
            lost_dead=counts.dead,
        )


class RabbitOverview(RabbitWaiting):
    """Pages of queues and lanes, and totals."""

    async def queue_page(
        self, tenant: str, after: str, limit: int, which: PageOf = WHOLE_PAGE
    ) -> list[QueueRow]:
        """A tenant's queues by name, with what is known to wait in each."""
        rows = await self.state.queue_page(tenant, after, limit, which)
        waiting_groups = await self.waiting_groups()
        return [_queue_row(row, [w for w in waiting_groups if _of(w, row)]) for row in rows]

    async def lane_page(
        self, tenant: str, after: int, limit: int, which: PageOf = WHOLE_PAGE
    ) -> list[LaneRow]:
        """A tenant's lanes by number, with what is known to wait in each."""
        rows = await self.state.lane_page(tenant, after, limit, which)
        groups = await self.waiting_groups()
        shown = [_counted(row, [each for each in groups if each.lane == row.id]) for row in rows]
        return [replace(row, owner=self.owner_of(row.id)) for row in shown]

    async def overview(self, tenant: str | None) -> Overview:
        """Totals of a tenant's messages, or of everybody's."""
        return await self._with_waiting(await self.state.overview(tenant), tenant)

    async def brief_overview(self, tenant: str, most: int) -> Overview:
        """Totals of a tenant's messages, those of the state store each up to a number."""
        return await self._with_waiting(await self.state.brief_overview(tenant, most), tenant)

    async def _with_waiting(self, found: Overview, tenant: str | None) -> Overview:
        groups = [g for g in await self.waiting_groups() if tenant in (None, g.tenant)]
        sums = _summed(groups, lambda group: (group.transport, group.level, _state(group)))
        counts = tuple(MessageCount(*key, *value) for key, value in sums.items())
        return replace(found, counts=found.counts + counts)


def _of(group: WaitingGroup, row: QueueRow) -> bool:
    return (group.tenant, group.name) == (row.tenant, row.queue)


def _counted(row: R, groups: list[WaitingGroup]) -> R:
    """A row with the messages of these groups added to its counts."""
    waiting, held = (
        sum(group.count for group in groups if _state(group) is state)
        for state in (State.waiting, State.held)
    )
    because = because_of_all(group.because for group in groups) or row.because
    return replace(row, waiting=row.waiting + waiting, held=row.held + held, because=because)


def _queue_row(row: QueueRow, groups: list[WaitingGroup]) -> QueueRow:
    dues = [group.oldest_due_ms for group in groups]
    dues += [] if row.oldest_due_ms is None else [row.oldest_due_ms]
    return replace(_counted(row, groups), oldest_due_ms=min(dues, default=None))


def _tallies(groups: list[WaitingGroup]) -> tuple[Tally, ...]:
    """Counts by lane, level and what holds them."""
    sums = _summed(groups, lambda group: (group.lane, _state(group), group.level, group.because))
    return tuple(
        Tally(lane, state, level, *value, because)
        for (lane, state, level, because), value in sums.items()
    )


def _state(group: WaitingGroup) -> State:
    return State.held if group.because else State.waiting


def _summed(groups: list[WaitingGroup], key: Callable[[WaitingGroup], K]) -> dict[K, Sum]:
    """The count of messages and the oldest due time for each key."""
    sums: dict[K, Sum] = {}
    for group in groups:
        count, due_ms = sums.get(key(group), (0, group.oldest_due_ms))
        sums[key(group)] = (count + group.count, min(due_ms, group.oldest_due_ms))
    return sums


def _place_of(entry: DeliveredMessage) -> MessagePlace:
    m, e = entry.message, entry.envelope
    times = (m.due_ms, m.accepted_at_ms, m.expires_at_ms)
    return MessagePlace(e.tenant, e.queue, m.lane, m.level, m.attempts, *times)
