"""Replaces messages by newer copies. The copy is published and confirmed first, then the old one
is recorded as spent, then it is acked: a crash may repeat a message and never loses one."""

from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.entities import LaneKey
from postroad.model.record import Result
from postroad.model.states import DeadReason
from postroad.stores.rabbitmq.consuming.delivery import DeliveredMessage
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.publishing.routes import CopySender, RoutedCopy, Routes, raise_first
from postroad.stores.rabbitmq.state.broker_state import BrokerState, SpentCopy, StateBatch


class RepublishBatch:
    """Copies to publish, state to write and deliveries to ack, in this order."""

    def __init__(self, routes: Routes, now_ms: int) -> None:
        self.state_batch = StateBatch(now_ms)
        self.copies: list[tuple[RoutedCopy, DeliveredMessage]] = []
        self.ended: list[DeliveredMessage] = []
        self.delivered_ids: list[int] = []
        self._routes = routes
        self._now_ms = now_ms

    def deliver(self, result: Result, hop: int) -> None:
        """Record a delivery. Copies up to `hop` are spent, whichever of them was delivered."""
        self.state_batch.deliver(result, hop)
        self.delivered_ids.append(result.message.id)

    def tried(self, entry: DeliveredMessage, result: Result, lane: LaneKey) -> None:
        """Record a try. The entry may be a later copy than the one that was tried: a success ends
        it too; a failure leaves it alone."""
        if result.move is Move.deliver:
            self.deliver(result, entry.envelope.hop)
            self.ended.append(entry)
            return
        self.state_batch.tried(result)
        tries = result.message.attempts + 1
        if tries <= entry.message.attempts:  # this try was recorded before
            if entry.envelope.hop:  # perhaps the copy was published, and its write failed
                self._spend(entry, entry.envelope.hop - 1, entry.envelope)
            return
        envelope = replace(entry.envelope, attempts=tries).failed(result.error)
        match result.move:
            case Move.climb | Move.wait:
                due_ms, level = result.due_ms, result.level
                again = envelope.again(level=level, due_ms=due_ms, behind_ms=0)
                self._move(entry, again, self._routes.to_lane(again, lane, self._now_ms))
            case Move.die:
                self._die(entry, replace(envelope, status=result.status), result.reason)
            case Move.doubt:
                self.state_batch.uncertain(result, envelope.hop)
                self.ended.append(entry)
            case _:  # the message stays in memory
                entry.envelope = envelope
                entry.message = replace(entry.message, attempts=tries)
                if entry.message.marks:
                    entry.message = replace(entry.message, marks=entry.message.marks - 1)
                    self.state_batch.unnote(entry.message.id)

    def back(self, entry: DeliveredMessage, lane: LaneKey) -> None:
        """Send a message that is not due back to the delay queues, for the rest of its wait."""
        again = entry.envelope.again()
        self._move(entry, again, self._routes.to_lane(again, lane, self._now_ms))

    def park(self, entry: DeliveredMessage, lane: LaneKey, until_ms: int) -> None:
        """Send a blocked message to the delay queues, at the same level."""
        again = entry.envelope.again()
        self._move(entry, again, self._routes.park(again, lane, until_ms - self._now_ms))

    def die(self, entry: DeliveredMessage, reason: DeadReason) -> None:
        """Send a message to the dead set without a try."""
        self._die(entry, entry.envelope, reason)

    def _die(self, entry: DeliveredMessage, envelope: Envelope, reason: DeadReason | None) -> None:
        why = reason or DeadReason.exhausted
        letter = envelope.again(reason=str(why), died_at_ms=self._now_ms)
        self._move(entry, letter, self._routes.dead(letter), done=True)

    def replace(self, entry: DeliveredMessage, copy: RoutedCopy) -> None:
        """Replace a message by a copy. The copy is not published again if an earlier run of this
        batch did so and failed later."""
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
        """Record copies up to `hop` as spent, and the message as the newer copy has it."""
        place = (now.priority, now.level, now.attempts, now.due_ms)
        self.state_batch.spend(SpentCopy(entry.message, hop, *place, done))


class Republisher:
    """Runs republish batches."""

    def __init__(
        self, publisher: CopySender, state: BrokerState, delivered: DeliveredMessages
    ) -> None:
        self._publisher = publisher
        self._state = state
        self._delivered = delivered

    async def run(self, republish: RepublishBatch) -> None:
        """Publish, write and ack. When it fails nothing was acked, and it can be run again:
        confirmed copies are not published twice."""
        if republish.copies:
            answers = await self._publisher.publish([copy for copy, _ in republish.copies])
            for (_, entry), failure in zip(republish.copies, answers, strict=True):
                entry.republished = failure is None
            self._delivered.withhold(entry for _, entry in republish.copies if entry.republished)
            republish.copies = [each for each in republish.copies if not each[1].republished]
            raise_first(answers)
        await self._state.write(republish.state_batch)
        for entry in republish.ended:
            if self._delivered.messages.get(entry.message.id) is entry:
                _ = self._delivered.drop(entry.message.id)  # it is `entry`
            entry.ack_handle.ack()
        self._delivered.finish(republish.delivered_ids)
