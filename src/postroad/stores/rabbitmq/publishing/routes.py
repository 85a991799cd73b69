"""Which exchange and routing key a copy of a message is published to."""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from postroad.model.entities import LaneKey
from postroad.model.errors import PostroadError
from postroad.stores.rabbitmq.delays.delay_queues import key as walk_key
from postroad.stores.rabbitmq.delays.delay_queues import walk, walk_within
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.topology.topology import Topology

PARK_MS: Final = 1_000
PARK_DOUBLINGS: Final = 6
"""A parked message comes back now and then to see whether its block has ended: after 2 s, then
half as often each time, in the end every 64 s. A resume or unblock takes effect that much later at
most. These are powers of two, so each takes one delay queue."""


PublishOutcome = PostroadError | None
"""Why a copy was not confirmed, or None when the broker has stored it."""


class RoutedCopy(Struct, frozen=True):
    """A copy of a message with its exchange and routing key."""

    exchange: str
    key: str
    envelope: Envelope


class CopySender(Protocol):
    """Publishes copies."""

    async def publish(self, copies: Sequence[RoutedCopy]) -> list[PublishOutcome]:
        """Publish copies together; answers the outcome of each. A retry must publish only what was
        not confirmed: a second copy in a handler's queue may be tried beside the first."""


def raise_first(answers: Iterable[PublishOutcome]) -> None:
    """Raise the first error, if there is one."""
    for failure in answers:
        if failure is not None:
            raise failure


class Routes:
    """Finds the exchange and routing key of copies."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    def to_lane(self, envelope: Envelope, lane: LaneKey, now_ms: int) -> RoutedCopy:
        """Route a copy to its lane for when it is due, or for when it expires if that is sooner."""
        hops = walk(min(envelope.due_ms, envelope.expires_at_ms) - now_ms)
        return RoutedCopy(*self.exchange_and_key(hops, self.topology.target(lane)), envelope)

    def exchange_and_key(self, hops: tuple[int, ...], target: str) -> tuple[str, str]:
        """The exchange and routing key that lead through these delay queues to a target."""
        if not hops:
            return self.topology.instant, target
        return self.topology.delay, walk_key(hops, target)

    def park(self, envelope: Envelope, lane: LaneKey, wait_ms: int) -> RoutedCopy:
        """Route a blocked copy back to its lane after a while, at most `wait_ms` and never below
        one unit."""
        target = self.topology.target(lane)
        most_ms = PARK_MS << min(envelope.hop, PARK_DOUBLINGS)
        hops = walk_within(min(wait_ms, most_ms)) or (0,)
        return RoutedCopy(self.topology.delay, walk_key(hops, target), envelope)

    def dead(self, envelope: Envelope) -> RoutedCopy:
        """Route a dead letter to the dead queue."""
        return RoutedCopy(self.topology.dead_exchange, "", envelope)
