"""What the state store records about messages in the broker, in either database."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from postroad.model.block import Block
from postroad.model.circuit import Circuit
from postroad.model.entities import Draft, Lane, LaneKey, Message
from postroad.model.outcome import Kind
from postroad.model.recipients import recipient_in
from postroad.model.record import LaneChange, Result
from postroad.model.tries import Try
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.state.tables import Row, Step, Tables, listed

RETAIN_SLICE = 1_000
NO_HOP = -1
DeadLetter = tuple[Envelope, int, int]
"""A dead letter with the numbers of its queue and lane."""


class KnownMessage(Struct, frozen=True):
    """What the state store knows of a message. Copies up to `hop` are spent."""

    hop: int = -1
    starts: int = 0
    finished: bool = False


class MessagePlace(Struct, frozen=True):
    """Where a message waits that was tried, parked or sent for later."""

    tenant: str
    queue: str
    lane: int
    level: int
    attempts: int
    due_ms: int
    accepted_at_ms: int
    expires_at_ms: int


class WaitingGroup(Struct, frozen=True):
    """Messages of one queue, lane and level. `because`: what holds them; "" is nothing."""

    queue: int
    tenant: str
    name: str
    lane: int
    transport: str
    level: int
    because: str
    count: int
    oldest_due_ms: int


class SpentCopy(Struct, frozen=True):
    """A copy that was replaced by a newer one, with its new place; or by none (`done`)."""

    message: Message
    hop: int
    priority: int
    level: int
    attempts: int
    due_ms: int
    done: bool = False


class StateBatch:
    """Statements for one transaction."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._steps: dict[str, list[Row]] = {}
        self.durable = False

    def __bool__(self) -> bool:
        return bool(self._steps)

    @property
    def steps(self) -> list[Step]:
        """The statements with their rows, in order of first use."""
        return list(self._steps.items())

    def _add(self, query: str, *values: object) -> None:
        self._steps.setdefault(query, []).append(values)

    def deliver(self, result: Result, hop: int) -> None:
        """Record a delivery. The message leaves the dead set and the uncertain messages."""
        m = result.message
        self._name(m.id, m.queue, m.headers)
        row = (m.id, m.queue, m.accepted_at_ms, self._now_ms, m.level, m.attempts + 1)
        self._add("history_insert", *row, result.took_ms)
        if result.keep and result.keep.body_ms:
            ends_at_ms = self._now_ms + result.keep.body_ms
            self._add("body_insert", m.id, m.queue, result.priority, m.headers, m.body, ends_at_ms)
        self._add("dead_delete", m.id)
        self._add("message_delete", m.id)
        self._add("finish", m.id, hop, self._now_ms)

    def _name(self, number: int, queue: int, headers: bytes) -> None:
        """Record the recipient that a message names."""
        if recipient := recipient_in(headers):
            self._add("recipient_insert", number, queue, recipient)

    def tried(self, result: Result) -> None:
        """Record a try that did not deliver."""
        m = result.message
        self._name(m.id, m.queue, m.headers)
        row = (m.id, m.attempts + 1, result.started_ms, m.level, str(result.kind), result.status)
        self._add("attempt_insert", *row, result.took_ms, result.error)

    def seen(self, result: Result) -> None:
        """Record what was seen of a webhook try."""
        note, m = result.details, result.message
        if note is None:
            return
        row = (m.id, m.attempts + 1, result.started_ms, m.level, str(result.kind), result.status)
        times = (result.took_ms, note.answered_ms, note.connect_ms)
        more = (note.address, note.fault, result.error, note.headers, note.answer)
        self._add("webhook_try_insert", *row, *times, *more)

    def unnote(self, number: int) -> None:
        """Take a noted start back: the try has ended, and the message stays in memory."""
        self._add("start_remove", number, 1)

    def sent(self, draft: Draft) -> None:
        """Record where a message waits that was sent for later."""
        self._name(draft.id, draft.queue, draft.headers)
        place = (draft.queue, draft.lane, 0, draft.priority, 0, draft.due_ms)
        times = (draft.accepted_at_ms, draft.expires_at_ms, self._now_ms)
        self._add("spend", draft.id, NO_HOP, 0, *place, *times)

    def spend(self, spent: SpentCopy) -> None:
        """Record a spent copy."""
        m = spent.message
        place = (m.queue, m.lane, spent.level, spent.priority, spent.attempts, spent.due_ms)
        times = (m.accepted_at_ms, m.expires_at_ms, self._now_ms)
        self._add("spend", m.id, spent.hop, int(spent.done), *place, *times)

    def republished(self, message: Message, hop: int, priority: int) -> None:
        """Delete a message of the outbox: the broker has its copy of that hop."""
        self._add("message_delete", message.id)
        place = (message.level, message.attempts, message.due_ms)
        self.spend(SpentCopy(message, hop - 1, priority, *place))

    def uncertain(self, result: Result, hop: int) -> None:
        """Keep an uncertain message in the state store; it leaves the broker."""
        m = result.message
        self._name(m.id, m.queue, m.headers)
        self._add("uncertain_rung", m.lane, m.queue, result.priority)
        place = (m.id, m.lane, m.queue, result.priority, self._now_ms, m.level, m.attempts + 1)
        self._add("uncertain_insert", *place, m.accepted_at_ms, m.expires_at_ms, m.headers, m.body)
        due_ms, tries = self._now_ms, m.attempts + 1
        self.spend(SpentCopy(m, hop, result.priority, m.level, tries, due_ms, done=True))
        self.durable = True

    def block(self, queue: int, block: Block | None) -> None:
        """Set or lift the block of a queue."""
        if block is None:
            self._add("queue_block", queue, "", 0, "", 0, 0)
            return
        row = (str(block.kind), block.until_ms, block.reason, block.streak, block.since_ms)
        self._add("queue_block", queue, *row)

    def circuit(self, change: LaneChange) -> None:
        """Set the circuit of a lane. One that closes lifts its queues' `unreachable` blocks."""
        c = change.circuit
        row = (c.strikes, c.opened, c.until_ms, c.since_ms, c.reason)
        self._add("lane_circuit", change.lane, *row)
        if not c.is_open:
            self._add("lane_lift", change.lane)


class BrokerState:
    """Reads and writes the state of messages that are in the broker."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def write(self, batch: StateBatch) -> None:
        """Write a batch in one transaction."""
        if batch:
            await self._tables.write("record", batch.steps, durable=batch.durable)

    async def known(self, ids: Iterable[int]) -> dict[int, KnownMessage]:
        """What is known of these messages; those without a record are left out."""
        numbers = list(ids)
        rows = await self._tables.read("arrive", "known", listed(numbers)) if numbers else []
        return {number: KnownMessage(hop, starts, bool(done)) for number, hop, starts, done in rows}

    async def lanes(self, ids: Sequence[int]) -> list[Lane]:
        """Lanes as an owner gets them, at epoch 0."""
        rows = await self._tables.read("queues", "lanes", listed(ids)) if ids else []
        return [_lane(row) for row in rows]

    async def note(self, messages: Sequence[tuple[Message, int]], now_ms: int) -> None:
        """Note that messages (with their priorities) are about to start."""
        rows = [_noted(message, priority, now_ms) for message, priority in messages]
        await self._tables.write("mark", [("start_add", rows)], durable=True)

    async def unnote(self, ids: Sequence[int]) -> None:
        """Take noted starts back."""
        await self._tables.write("mark", [("start_remove", [(number, 1) for number in ids])])

    async def outbox(self, limit: int) -> list[Envelope]:
        """Messages that the state store holds for the broker."""
        rows = await self._tables.read("outbox", "outbox", limit)
        return [Envelope(*row) for row in rows]

    async def store_dead(self, letters: Sequence[DeadLetter], now_ms: int) -> None:
        """Store dead letters, each once, in one durable transaction."""
        rows = [_dead_row(*letter) for letter in letters]
        spent = [_spent_row(*letter, now_ms) for letter in letters]
        named = [
            (letter.id, queue, recipient)
            for letter, queue, _ in letters
            if (recipient := recipient_in(letter.headers))
        ]
        steps = [("dead_insert", rows), ("spend", spent), ("recipient_insert", named)]
        await self._tables.write("dead", [step for step in steps if step[1]], durable=True)

    async def place_of(self, number: int) -> MessagePlace | None:
        """Where a message waits, if that is recorded."""
        rows = await self._tables.read("insight", "place", number)
        return MessagePlace(*rows[0]) if rows else None

    async def waiting_groups(self, queue: int, lane: int, now_ms: int) -> list[WaitingGroup]:
        """What waits of a queue, of a lane, or of all (0, 0)."""
        rows = await self._tables.read("insight", "waiting", queue, lane, now_ms)
        return [WaitingGroup(*row) for row in rows]

    async def tries(self, number: int) -> tuple[Try, ...]:
        """The tries of a message that did not deliver."""
        rows = await self._tables.read("insight", "attempts_of", number)
        return tuple(
            Try(n, at, level, Kind(kind), status, took, error)
            for n, at, level, kind, status, took, error in rows
        )

    async def retain(self, before_ms: int) -> None:
        """Delete a slice of the records of messages that were done before a time."""
        await self._tables.write("retain", [("copies_forget", [(before_ms, RETAIN_SLICE)])])


def _lane(row: Row) -> Lane:
    number, transport, server, credential, shard, tenant, *circuit, paused_at = row
    key = LaneKey(transport, server, credential, shard, tenant)
    return Lane(number, key, 0, Circuit(*circuit), 0, paused_at > 0)


def _noted(m: Message, priority: int, now_ms: int) -> Row:
    start = (m.id, m.queue, m.lane, m.level, priority, m.attempts)
    return (*start, m.due_ms, m.accepted_at_ms, m.expires_at_ms, now_ms)


def _dead_row(e: Envelope, queue: int, lane: int) -> Row:
    start = (e.id, e.hop, queue, lane, e.reason, e.died_at_ms, e.level, e.attempts)
    return (*start, e.accepted_at_ms, e.priority, e.last_error, e.status, e.headers, e.body)


def _spent_row(e: Envelope, queue: int, lane: int, now_ms: int) -> Row:
    start = (e.id, e.hop, 1, queue, lane, e.level, e.priority, e.attempts)
    return (*start, e.due_ms, e.accepted_at_ms, e.expires_at_ms, now_ms)
