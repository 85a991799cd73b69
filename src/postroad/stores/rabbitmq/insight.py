"""What is known of messages that the broker holds: from memory, and from the notes."""

from msgspec.structs import replace

from postroad.model.facts import LaneFacts, Live, MessageFacts, QueueFacts, Tally
from postroad.model.states import State
from postroad.model.webhook import Attempt
from postroad.model.words import DEFAULT_TENANT, Queue
from postroad.stores.rabbitmq.base import Base
from postroad.stores.rabbitmq.stacks import Entry
from postroad.stores.rabbitmq.state.state import Where


class InsightVerbs(Base):
    """Read-only questions. A message that was sent and not yet tried lies in the broker, which
    cannot be asked for one: until then only the process that was given it knows it."""

    async def counts(self) -> dict[str, int]:
        """Messages by state. What lies in the broker counts as waiting."""
        counts = await self.state.counts()
        ready = sum([await self.broker.ready(line) for line in self.broker.lines])
        counts["waiting"] += ready + len(self.table.entries)
        counts["dead"] += await self.broker.ready(self.topology.dead)
        return counts

    async def message_facts(self, tenant: str | None, number: int) -> MessageFacts | None:
        """All that is known about a tenant's message."""
        facts = await self.state.message_facts(tenant, number)
        if facts is not None:
            return facts
        entry = self.table.entries.get(number)
        where = await self.afar.where(number) if entry is None else _where(entry)
        if where is None or tenant not in (None, where.tenant):
            return None
        queue = await self.state.queue_facts(where.tenant, where.queue)
        if queue is None:  # pragma: no cover - its row names the queue
            return None
        lane = next((lane for lane in queue.lanes if lane.id == where.lane), None)
        live = Live(where.level, where.attempts, where.due_ms, where.expires_at_ms, False, "", 0, 0)
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
        waits = await self._tallies(facts.queue, 0)
        return replace(facts, tallies=facts.tallies + waits)

    async def lane_facts(self, number: int) -> LaneFacts | None:
        """A lane and what is known to wait in it."""
        facts = await self.state.lane_facts(number)
        if facts is None:
            return None
        return replace(facts, tallies=facts.tallies + await self._tallies(None, number))

    async def _tallies(self, queue: Queue | None, lane: int) -> tuple[Tally, ...]:
        """By lane and level: in memory, tried before or not; and elsewhere, if tried before."""
        number = queue.id if queue else 0
        sums: dict[tuple[int, int], tuple[int, int]] = {}
        for where, level, count, due_ms in await self.afar.waits(number, lane):
            sums[where, level] = (count, due_ms)
        for entry in self.table.entries.values():
            m = entry.message
            if entry.envelope.hop == 0 and (number == m.queue or lane == m.lane):
                count, due_ms = sums.get((m.lane, m.level), (0, m.due_ms))
                sums[m.lane, m.level] = (count + 1, min(due_ms, m.due_ms))
        held = queue is not None and (queue.paused or queue.block is not None)
        state = State.held if held else State.waiting
        return tuple(Tally(where, state, level, *rest) for (where, level), rest in sums.items())


def _where(entry: Entry) -> Where:
    m, e = entry.message, entry.envelope
    times = (m.due_ms, m.accepted_at_ms, m.expires_at_ms)
    return Where(e.tenant or DEFAULT_TENANT, e.queue, m.lane, m.level, m.attempts, *times)
