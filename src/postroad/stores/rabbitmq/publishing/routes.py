"""Where a copy of a message is published to."""

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
"""A message that may not go comes back now and then to see whether it may: after 2 s the first
time, then half as often each time, every 64 s in the end. A resume or an unblock is felt so much
later at most. Powers of two of units: one hop each."""


PublishOutcome = PostroadError | None
"""Why a copy is not confirmed, or None when the broker has it safe."""


class RoutedCopy(Struct, frozen=True):
    """A copy and its way."""

    exchange: str
    key: str
    envelope: Envelope


class CopyPublisher(Protocol):
    """The way into the broker."""

    async def publish(self, copies: Sequence[RoutedCopy]) -> list[PublishOutcome]:
        """All of them, in one go; what became of each. Who tries again publishes only what is not
        confirmed: a second copy in a handler's line may be tried beside the first."""


def raise_first(answers: Iterable[PublishOutcome]) -> None:
    """What went wrong first, if anything did."""
    for failure in answers:
        if failure is not None:
            raise failure


class Routes:
    """The topology as ways for copies."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    def to_lane(self, envelope: Envelope, lane: LaneKey, now_ms: int) -> RoutedCopy:
        """To its lane when it is due; or when it expires, to die on time."""
        hops = walk(min(envelope.due_ms, envelope.expires_at_ms) - now_ms)
        return RoutedCopy(*self.exchange_and_key(hops, self.topology.target(lane)), envelope)

    def exchange_and_key(self, hops: tuple[int, ...], target: str) -> tuple[str, str]:
        """The exchange and the routing key that lead through these waits to a target."""
        if not hops:
            return self.topology.instant, target
        return self.topology.delay, walk_key(hops, target)

    def park(self, envelope: Envelope, lane: LaneKey, wait_ms: int) -> RoutedCopy:
        """Back to its lane in a while, not later than said, but for less than a unit."""
        target = self.topology.target(lane)
        most_ms = PARK_MS << min(envelope.hop, PARK_DOUBLINGS)
        hops = walk_within(min(wait_ms, most_ms)) or (0,)
        return RoutedCopy(self.topology.delay, walk_key(hops, target), envelope)

    def dead(self, envelope: Envelope) -> RoutedCopy:
        """To the collector of the dead set."""
        return RoutedCopy(self.topology.dead_exchange, "", envelope)
