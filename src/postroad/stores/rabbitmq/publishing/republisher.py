"""Shifts: copies that take the place of others. Published and confirmed first, then the old ones
are noted as spent, then they are acked; so a crash repeats rather than loses."""

from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.entities import LaneKey
from postroad.model.record import Result
from postroad.model.states import DeadReason
from postroad.stores.rabbitmq.consuming.delivery import Entry
from postroad.stores.rabbitmq.consuming.memory_tables import Table
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.publishing.routes import Outlet, Post, Routes, raise_first
from postroad.stores.rabbitmq.state.broker_state import Batch, BrokerState, Spent


class Shift:
    """What is to be published, written and acked, together."""

    def __init__(self, routes: Routes, now_ms: int) -> None:
        self.batch = Batch(now_ms)
        self.posts: list[tuple[Post, Entry]] = []
        self.ended: list[Entry] = []
        self.delivered: list[int] = []
        self._routes = routes
        self._now_ms = now_ms

    def __bool__(self) -> bool:
        return bool(self.batch or self.posts or self.ended)

    def deliver(self, result: Result, hop: int) -> None:
        """It arrived: of which copy (up to `hop`) does not matter."""
        self.batch.deliver(result, hop)
        self.delivered.append(result.message.id)

    def tried(self, entry: Entry, result: Result, lane: LaneKey) -> None:
        """A try has ended, and the entry is the message that it was made of, or a later copy: a
        success ends that, too; else the copy goes its own way."""
        if result.move is Move.deliver:
            self.deliver(result, entry.envelope.hop)
            self.ended.append(entry)
            return
        self.batch.tried(result)
        tries = result.message.attempts + 1
        if tries <= entry.message.attempts:  # written before, or by whoever made the later copy
            if entry.envelope.hop:  # perhaps this is who made it, and could not note it
                self._spend(entry, entry.envelope.hop - 1, entry.envelope)
            return
        envelope = replace(entry.envelope, attempts=tries).failed(result.error)
        match result.move:
            case Move.climb | Move.wait:
                due_ms, level = result.due_ms, result.level
                again = envelope.again(level=level, due_ms=due_ms)
                self._move(entry, again, self._routes.post(again, lane, self._now_ms))
            case Move.die:
                self._die(entry, replace(envelope, status=result.status), result.reason)
            case Move.doubt:
                self.batch.doubt(result, envelope.hop)
                self.ended.append(entry)
            case _:  # it stays where it is, in memory
                entry.envelope = envelope
                entry.message = replace(entry.message, attempts=tries)
                if entry.message.marks:
                    entry.message = replace(entry.message, marks=entry.message.marks - 1)
                    self.batch.unnote(entry.message.id)

    def back(self, entry: Entry, lane: LaneKey) -> None:
        """It is not due yet: the rest of its wait."""
        again = entry.envelope.again()
        self._move(entry, again, self._routes.post(again, lane, self._now_ms))

    def park(self, entry: Entry, lane: LaneKey, until_ms: int) -> None:
        """It may not go: to the delay queues, and no level is spent."""
        again = entry.envelope.again()
        self._move(entry, again, self._routes.park(again, lane, until_ms - self._now_ms))

    def die(self, entry: Entry, reason: DeadReason) -> None:
        """It dies without a try."""
        self._die(entry, entry.envelope, reason)

    def _die(self, entry: Entry, envelope: Envelope, reason: DeadReason | None) -> None:
        why = reason or DeadReason.exhausted
        letter = envelope.again(reason=str(why), died_at_ms=self._now_ms)
        self._move(entry, letter, self._routes.dead(letter), done=True)

    def replace(self, entry: Entry, post: Post) -> None:
        """Its place is taken by a copy, which is published unless it was before: then the rest of
        the shift, or the note in the state store, has failed and is tried again."""
        if not entry.moved:
            self.posts.append((post, entry))
        self.ended.append(entry)

    def _move(self, entry: Entry, again: Envelope, post: Post, *, done: bool = False) -> None:
        self.replace(entry, post)
        self._spend(entry, entry.envelope.hop, again, done=done)

    def _spend(self, entry: Entry, hop: int, now: Envelope, *, done: bool = False) -> None:
        """Copies up to `hop` are spent, and the message is as it is in the one that is not."""
        place = (now.priority, now.level, now.attempts, now.due_ms)
        self.batch.spend(Spent(entry.message, hop, *place, done))


class Shifter:
    """Does shifts."""

    def __init__(self, outlet: Outlet, state: BrokerState, table: Table) -> None:
        self._outlet = outlet
        self._state = state
        self._table = table

    async def run(self, shift: Shift) -> None:
        """All of it; when it fails, nothing was acked and it can be done again: what is confirmed
        by then is not published again."""
        if shift.posts:
            answers = await self._outlet.publish([post for post, _ in shift.posts])
            for (_, entry), wrong in zip(shift.posts, answers, strict=True):
                entry.moved = wrong is None
            self._table.withhold(entry for _, entry in shift.posts if entry.moved)
            shift.posts = [each for each in shift.posts if not each[1].moved]
            raise_first(answers)
        await self._state.write(shift.batch)
        for entry in shift.ended:
            if self._table.entries.get(entry.message.id) is entry:
                _ = self._table.drop(entry.message.id)  # it is known here
            entry.receipt.ack()
        self._table.finish(shift.delivered)
