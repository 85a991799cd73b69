"""What is known of messages that the broker holds: from memory, and from the notes."""

import asyncio
import os
import socket
from typing import Final

from msgspec.structs import replace

from postroad.model.facts import LaneFacts, LaneState, Live, MessageFacts, Owner, QueueFacts, Tally
from postroad.model.overview import Heap, LaneRow, Overview, QueueRow, Standing
from postroad.model.states import State
from postroad.model.webhook import Attempt
from postroad.stores.rabbitmq.base import Base
from postroad.stores.rabbitmq.consuming.delivery import Entry
from postroad.stores.rabbitmq.delays.gates import lane_gate_ms, queue_gate_ms
from postroad.stores.rabbitmq.state.broker_state import Wait, Where

OTHERS_MAX: Final = 1_000


class Waiting(Base):
    """What waits, put together: what the state store has rows of, and what is only in memory."""

    async def waits(self, queue: int = 0, lane: int = 0) -> list[Wait]:
        """All that is known to wait of a queue, of a lane, or at all. What was sent to be tried at
        once and lies in the broker is known to nobody but the broker, which only counts."""
        found = await self.afar.waits(queue, lane, self.clock.now_ms())
        for entry in self.table.entries.values():
            m = entry.message
            if not entry.written and queue in (0, m.queue) and lane in (0, m.lane):
                found.append(self._wait(entry))
        return found

    def _wait(self, entry: Entry) -> Wait:
        m, now_ms = entry.message, self.clock.now_ms()
        queue, lane = self.table.queues[m.queue], self.table.lanes[m.lane]
        held = queue.paused or lane.paused or queue_gate_ms(queue) > now_ms
        standing = Standing.blocked if held or lane_gate_ms(lane) > now_ms else Standing.waiting
        if queue.paused or lane.paused or (queue.block and queue.block.kind == "disabled"):
            standing = Standing.held
        who = (queue.id, queue.tenant, queue.name, lane.id, lane.key.transport)
        return Wait(*who, m.level, standing, held, 1, m.due_ms)

    def owner_of(self, lane: int) -> Owner | None:
        """The owner of a lane in this process."""
        spot = self.table.spots.get(lane)
        if spot is None or spot.owner is None:
            return None
        heard_at_ms = self._owners.get(spot.owner, 0)
        return Owner(spot.owner, socket.gethostname(), os.getpid(), heard_at_ms)

    def owned(self, lane: LaneState) -> LaneState:
        """A lane with what this process knows of it."""
        spot = self.table.spots.get(lane.id)
        crashes = spot.crashes if spot is not None else lane.crashes
        return replace(lane, owner=self.owner_of(lane.id), crashes=crashes)


class InsightVerbs(Waiting):
    """Read-only questions."""

    async def counts(self) -> dict[str, int]:
        """Messages by state. What lies in the broker counts as waiting."""
        counts = await self.state.counts()
        ready = sum(await asyncio.gather(*map(self.broker.ready, self.broker.lines)))
        held = sum(wait.count for wait in await self.waits() if wait.held)
        counts["waiting"] += max(0, ready + len(self.table.entries) - held)
        counts["held"] += held
        counts["dead"] += await self.broker.ready(self.topology.dead)
        return counts

    async def message_facts(self, tenant: str | None, number: int) -> MessageFacts | None:
        """All that is known about a tenant's message."""
        facts = await self.state.message_facts(tenant, number)
        if facts is not None:
            return facts
        entry = self.table.entries.get(number)
        where = _where(entry) if entry is not None else await self.afar.where(number)
        where = where or self._sent(number)
        if where is None:  # or it has come to its end since it was asked for
            return await self.state.message_facts(tenant, number)
        if tenant not in (None, where.tenant):
            return None
        queue = await self.state.queue_facts(where.tenant, where.queue)
        if queue is None:  # pragma: no cover - its row names the queue
            return None
        lane = next((self.owned(lane) for lane in queue.lanes if lane.id == where.lane), None)
        others = await self._others_due(where)
        times = (where.due_ms, where.expires_at_ms)
        live = Live(where.level, where.attempts, *times, False, "", 0, others)
        return MessageFacts(
            number,
            where.accepted_at_ms,
            queue.queue,
            queue.paused_at_ms,
            await self.afar.tries(number),
            live=live,
            lane=lane,
            paces=queue.paces,
        )

    def _sent(self, number: int) -> Where | None:
        sent = self.recent.get(number)
        queue = None if sent is None else self.book.known(sent.queue)
        if sent is None or queue is None:
            return None
        times = (sent.due_ms, sent.accepted_at_ms, sent.expires_at_ms)
        return Where(queue.tenant, queue.name, sent.lane, 0, 0, *times)

    async def _others_due(self, where: Where) -> int:
        """Messages of its lane that can go before it, as far as is known."""
        by_ms = max(where.due_ms, self.clock.now_ms())
        others = [
            wait.count
            for wait in await self.waits(lane=where.lane)
            if wait.oldest_due_ms <= by_ms and not wait.held
        ]
        return min(max(0, sum(others) - 1), OTHERS_MAX)

    async def attempts(self, tenant: str, message: int) -> list[Attempt]:
        """The tries of a tenant's message, in order."""
        if await self.message_facts(tenant, message) is None:
            return []
        return await self.afar.seen(message)

    async def queue_facts(self, tenant: str, name: str) -> QueueFacts | None:
        """A queue, its lanes, and what is known to wait in them."""
        facts = await self.state.queue_facts(tenant, name)
        if facts is None:
            return None
        waits = await self.waits(queue=facts.queue.id)
        lanes = tuple(self.owned(lane) for lane in facts.lanes)
        return replace(facts, lanes=lanes, tallies=facts.tallies + _tallies(waits))

    async def lane_facts(self, number: int) -> LaneFacts | None:
        """A lane and what is known to wait in it."""
        facts = await self.state.lane_facts(number)
        if facts is None:
            return None
        waits = await self.waits(lane=number)
        lane = self.owned(facts.lane)
        return replace(facts, lane=lane, tallies=facts.tallies + _tallies(waits))


class OverviewVerbs(Waiting):
    """Pages of queues and lanes, and sums."""

    async def queue_page(self, tenant: str, after: str, limit: int) -> list[QueueRow]:
        """A tenant's queues by name, with what is known to wait in each."""
        rows = await self.state.queue_page(tenant, after, limit)
        waits = await self.waits()
        return [_queue_row(row, [w for w in waits if _of(w, row)]) for row in rows]

    async def lane_page(self, tenant: str, after: int, limit: int) -> list[LaneRow]:
        """A tenant's lanes by number, with what is known to wait in each."""
        rows = await self.state.lane_page(tenant, after, limit)
        waits = await self.waits()
        return [
            replace(_with(row, [w for w in waits if w.lane == row.id]), owner=self.owner_of(row.id))
            for row in rows
        ]

    async def overview(self, tenant: str | None) -> Overview:
        """How a tenant's messages stand, or everybody's."""
        said = await self.state.overview(tenant)
        heaps: dict[tuple[str, int, Standing], tuple[int, int]] = {}
        for wait in await self.waits():
            if tenant in (None, wait.tenant):
                key = (wait.transport, wait.level, wait.standing)
                count, due_ms = heaps.get(key, (0, wait.oldest_due_ms))
                heaps[key] = (count + wait.count, min(due_ms, wait.oldest_due_ms))
        return replace(said, heaps=said.heaps + tuple(Heap(*k, *v) for k, v in heaps.items()))


def _of(wait: Wait, row: QueueRow) -> bool:
    return (wait.tenant, wait.name) == (row.tenant, row.queue)


def _with(row: LaneRow, waits: list[Wait]) -> LaneRow:
    waiting, held, blocked = _sums(waits)
    return replace(
        row, waiting=row.waiting + waiting, held=row.held + held, blocked=row.blocked + blocked
    )


def _queue_row(row: QueueRow, waits: list[Wait]) -> QueueRow:
    waiting, held, blocked = _sums(waits)
    dues = [wait.oldest_due_ms for wait in waits]
    dues += [] if row.oldest_due_ms is None else [row.oldest_due_ms]
    return replace(
        row,
        waiting=row.waiting + waiting,
        held=row.held + held,
        blocked=row.blocked + blocked,
        oldest_due_ms=min(dues, default=None),
    )


def _sums(waits: list[Wait]) -> tuple[int, int, int]:
    kinds = (Standing.waiting, Standing.held, Standing.blocked)
    counts = [sum(w.count for w in waits if w.standing is kind) for kind in kinds]
    return counts[0], counts[1], counts[2]


def _tallies(waits: list[Wait]) -> tuple[Tally, ...]:
    """By lane, state and level."""
    sums: dict[tuple[int, State, int], tuple[int, int]] = {}
    for wait in waits:
        key = (wait.lane, State.held if wait.held else State.waiting, wait.level)
        count, due_ms = sums.get(key, (0, wait.oldest_due_ms))
        sums[key] = (count + wait.count, min(due_ms, wait.oldest_due_ms))
    return tuple(Tally(*key, *value) for key, value in sums.items())


def _where(entry: Entry) -> Where:
    m, e = entry.message, entry.envelope
    times = (m.due_ms, m.accepted_at_ms, m.expires_at_ms)
    return Where(e.tenant, e.queue, m.lane, m.level, m.attempts, *times)
