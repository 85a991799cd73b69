"""Shifts: copies that take the place of others. Published and confirmed first, then the old ones
are noted as spent, then they are acked; so a crash repeats rather than loses."""

from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.entities import LaneKey
from postroad.model.record import Result
from postroad.model.states import DeadReason
from postroad.stores.rabbitmq.consuming.delivery import DeliveredMessage
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.publishing.routes import (
    CopyPublisher,
    RoutedCopy,
    Routes,
    raise_first,
)
from postroad.stores.rabbitmq.state.broker_state import BrokerState, SpentCopy, StateBatch


class RepublishBatch:
    """What is to be published, written and acked, together."""

    def __init__(self, routes: Routes, now_ms: int) -> None:
        self.state_batch = StateBatch(now_ms)
        self.copies: list[tuple[RoutedCopy, DeliveredMessage]] = []
        self.ended: list[DeliveredMessage] = []
        self.delivered_ids: list[int] = []
        self._routes = routes
        self._now_ms = now_ms

    def __bool__(self) -> bool:
        return bool(self.state_batch or self.copies or self.ended)

    def deliver(self, result: Result, hop: int) -> None:
        """It arrived: of which copy (up to `hop`) does not matter."""
        self.state_batch.deliver(result, hop)
        self.delivered_ids.append(result.message.id)

    def tried(self, entry: DeliveredMessage, result: Result, lane: LaneKey) -> None:
        """A try has ended, and the entry is the message that it was made of, or a later copy: a
        success ends that, too; else the copy goes its own way."""
        if result.move is Move.deliver:
            self.deliver(result, entry.envelope.hop)
            self.ended.append(entry)
            return
        self.state_batch.tried(result)
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
                self._move(entry, again, self._routes.to_lane(again, lane, self._now_ms))
            case Move.die:
                self._die(entry, replace(envelope, status=result.status), result.reason)
            case Move.doubt:
                self.state_batch.uncertain(result, envelope.hop)
                self.ended.append(entry)
            case _:  # it stays where it is, in memory
                entry.envelope = envelope
                entry.message = replace(entry.message, attempts=tries)
                if entry.message.marks:
                    entry.message = replace(entry.message, marks=entry.message.marks - 1)
                    self.state_batch.unnote(entry.message.id)

    def back(self, entry: DeliveredMessage, lane: LaneKey) -> None:
        """It is not due yet: the rest of its wait."""
        again = entry.envelope.again()
        self._move(entry, again, self._routes.to_lane(again, lane, self._now_ms))

    def park(self, entry: DeliveredMessage, lane: LaneKey, until_ms: int) -> None:
        """It may not go: to the delay queues, and no level is spent."""
        again = entry.envelope.again()
        self._move(entry, again, self._routes.park(again, lane, until_ms - self._now_ms))

    def die(self, entry: DeliveredMessage, reason: DeadReason) -> None:
        """It dies without a try."""
        self._die(entry, entry.envelope, reason)

    def _die(self, entry: DeliveredMessage, envelope: Envelope, reason: DeadReason | None) -> None:
        why = reason or DeadReason.exhausted
        letter = envelope.again(reason=str(why), died_at_ms=self._now_ms)
        self._move(entry, letter, self._routes.dead(letter), done=True)

    def replace(self, entry: DeliveredMessage, copy: RoutedCopy) -> None:
        """Its place is taken by a copy, which is published unless it was before: then the rest of
        the shift, or the note in the state store, has failed and is tried again."""
        if not entry.republished:
            self.copies.append((copy, entry))
        self.ended.append(entry)

    def _move(
        self, entry: DeliveredMessage, again: Envelope, copy: RoutedCopy, *, done: bool = False
    ) -> None:
        self.replace(entry, copy)
        self._spend(entry, entry.envelope.hop, again, done=done)

    def _spend(
        self, entry: DeliveredMessage, hop: int, now: Envelope, *, done: bool = False
    ) -> None:
        """Copies up to `hop` are spent, and the message is as it is in the one that is not."""
        place = (now.priority, now.level, now.attempts, now.due_ms)
        self.state_batch.spend(SpentCopy(entry.message, hop, *place, done))


class Republisher:
    """Does shifts."""

    def __init__(
        self, copy_publisher: CopyPublisher, state: BrokerState, delivered: DeliveredMessages
    ) -> None:
        self._copy_publisher = copy_publisher
        self._state = state
        self._delivered = delivered

    async def run(self, republish: RepublishBatch) -> None:
        """All of it; when it fails, nothing was acked and it can be done again: what is confirmed
        by then is not published again."""
        if republish.copies:
            answers = await self._copy_publisher.publish([copy for copy, _ in republish.copies])
            for (_, entry), failure in zip(republish.copies, answers, strict=True):
                entry.republished = failure is None
            self._delivered.withhold(entry for _, entry in republish.copies if entry.republished)
            republish.copies = [each for each in republish.copies if not each[1].republished]
            raise_first(answers)
        await self._state.write(republish.state_batch)
        for entry in republish.ended:
            if self._delivered.messages.get(entry.message.id) is entry:
                _ = self._delivered.drop(entry.message.id)  # it is known here
            entry.ack_handle.ack()
        self._delivered.finish(republish.delivered_ids)
