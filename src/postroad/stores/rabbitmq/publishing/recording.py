"""Writes the results of tries to the state store and the broker, in one batch."""

from collections.abc import Iterable

from msgspec.structs import replace

from postroad.model.block import Block, BlockKind
from postroad.model.decide import Move
from postroad.model.record import LaneChange, Record, Recorded, Result
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.publishing.republisher import RepublishBatch, Republisher
from postroad.stores.rabbitmq.publishing.routes import Routes
from postroad.stores.rabbitmq.state.broker_state import NO_HOP


class ResultRecorder:
    """Writes records. A failure counts only while its lane is owned and its message is in memory; a
    success always counts, since the message was delivered."""

    def __init__(
        self, delivered: DeliveredMessages, routes: Routes, republisher: Republisher, clock: Clock
    ) -> None:
        self._delivered = delivered
        self._routes = routes
        self._republisher = republisher
        self._clock = clock

    async def record(self, record: Record) -> Recorded:
        """Write one record: publish copies, commit one transaction, then ack."""
        republish = RepublishBatch(self._routes, self._clock.now_ms())
        lost: set[int] = set()
        ended: set[int] = set()
        for result in record.results:
            republish.state_batch.seen(result)
            if not self._owns(record, result.message.lane, result.epoch):
                lost.add(result.message.lane)
            if result.message.id not in ended:  # a record may hold two results of one message
                self._apply(republish, result, held=result.message.lane not in lost)
            if result.move not in (Move.stay, Move.behind, Move.again):
                ended.add(result.message.id)
        queues = [c for c in record.queues if self._owns(record, c.lane, c.epoch)]
        lanes = [c for c in record.lanes if self._owns(record, c.lane, c.epoch)]
        for change in queues:
            republish.state_batch.block(change.queue, change.block)
        for lane_change in lanes:
            republish.state_batch.circuit(lane_change)
        await self._republisher.run(republish)
        self._put_behind(record.results)
        for change in queues:
            self._block(change.queue, change.block)
        for lane_change in lanes:
            self._circuit(lane_change)
        lost |= {c.lane for c in record.queues if c not in queues}
        return Recorded(frozenset(lost | {c.lane for c in record.lanes if c not in lanes}))

    def _owns(self, record: Record, lane: int, epoch: int) -> bool:
        return self._delivered.owns(record.owner, lane, epoch)

    def _apply(self, republish: RepublishBatch, result: Result, *, held: bool) -> None:
        entry = self._delivered.messages.get(result.message.id)
        if result.move is Move.deliver and entry is None:
            republish.deliver(result, NO_HOP)
        elif entry is not None and (held or result.move is Move.deliver):
            republish.tried(entry, result, self._delivered.lanes[result.message.lane].key)
        # Otherwise the delivery was lost, and the broker delivers the message again.

    def _put_behind(self, results: Iterable[Result]) -> None:
        """Move messages behind others that are due, if results say so and they are here."""
        for result in results:
            entry = self._delivered.messages.get(result.message.id)
            if result.move is Move.behind and entry is not None:
                key = (entry.message.queue, entry.message.level, entry.envelope.priority)
                lane = self._delivered.memory_lanes[entry.message.lane]
                lane.rungs[key].put_behind(entry, result.due_ms)

    def _block(self, number: int, block: Block | None) -> None:
        queue = self._delivered.queues.get(number)
        if queue is not None:
            self._delivered.update_queue(replace(queue, block=block))

    def _circuit(self, change: LaneChange) -> None:
        lane = self._delivered.lanes[change.lane]
        memory_lane = self._delivered.memory_lanes.get(change.lane)
        if memory_lane is not None:
            memory_lane.crashes = change.crashes
        self._delivered.update_lane(replace(lane, circuit=change.circuit))
        if not change.circuit.is_open:
            for queue in list(self._unreachable(change.lane)):
                self._block(queue, None)

    def _unreachable(self, lane: int) -> Iterable[int]:
        return (
            queue.id
            for queue in self._delivered.queues.values()
            if lane in queue.lanes and queue.block and queue.block.kind is BlockKind.unreachable
        )
