"""Handles the catch-all queue, which gets unroutable messages. It should be empty."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from postroad.model.states import DeadReason
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.dead_letters import read_or_reject
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome, RoutedCopy
from postroad.stores.rabbitmq.topology.topology import Topology
from postroad.stores.rabbitmq.wire.properties import Delivery

Declare = Callable[[str], Awaitable[None]]
"""Declares the broker queue of a target."""
Publish = Callable[[Sequence[RoutedCopy]], Awaitable[list[PublishOutcome]]]
"""Publishes copies; answers the outcome of each."""


class CatchAllCounts(Struct):
    """The unroutable messages that this process has handled since it started."""

    sent_on: int = 0
    dead: int = 0
    last: str = ""
    """The routing key of the latest one."""


class CatchAll:
    """Sends unroutable messages on. A broker queue that somebody deleted is declared again and gets
    its messages; messages for unknown targets go to the dead set."""

    def __init__(
        self, topology: Topology, declare: Declare, publish: Publish, clock: Clock, log: Log
    ) -> None:
        self.counts = CatchAllCounts()
        self._topology = topology
        self._declare = declare
        self._publish = publish
        self._clock = clock
        self._log = log

    async def handle_batch(self, batch: list[Delivery]) -> list[PublishOutcome]:
        """Send messages on, or to the dead set; answers the outcome of each."""
        copies = [self._copy(delivery) for delivery in batch]
        for target in {copy.key for copy in copies} - {""}:
            await self._declare(target)
        answers = await self._publish(copies)
        pairs = zip(copies, answers, strict=True)
        done = [bool(copy.key) for copy, failure in pairs if failure is None]
        self.counts.sent_on += sum(done)
        self.counts.dead += len(done) - sum(done)
        self.counts.last = batch[-1].key
        self._log.warning(
            "RabbitMQ could not route messages: was a queue deleted?",
            count=len(done),
            routing_key=batch[-1].key,
            dead=len(done) - sum(done),
        )
        return answers

    def _copy(self, delivery: Delivery) -> RoutedCopy:
        target = self._target(delivery.key)
        envelope = read_or_reject(delivery, self._clock.now_ms())
        if envelope.reason:
            return RoutedCopy(self._topology.dead_exchange, "", envelope)
        if target:
            return RoutedCopy(self._topology.instant, target, envelope.again())
        letter = self._unroutable(envelope, delivery.key)
        return RoutedCopy(self._topology.dead_exchange, "", letter)

    def _target(self, key: str) -> str:
        """The target at the end of a routing key, or "" if it is unknown."""
        _, _, target = key.rpartition(".to.")
        known = target.startswith("handler.") or target in self._topology.shard_targets()
        return target if known else ""

    def _unroutable(self, envelope: Envelope, key: str) -> Envelope:
        error = f"unroutable: RabbitMQ has no queue for {key!r}"
        return envelope.again(
            reason=DeadReason.rejected, last_error=error, died_at_ms=self._clock.now_ms()
        )
