"""Limits: the numbers that the engine works by."""

from msgspec import Struct

from postroad.model.ladder import POLL_INTERVALS_S
from postroad.model.near_names import NamesChecked


class Tuning(Struct, metaclass=NamesChecked, frozen=True):
    """Numbers that were chosen by measurement. They are no settings: tests change them."""

    level_workers: int = 128
    """Sends of one retry level (above 0) in flight in this process."""
    buffer: int = 256
    """Messages read ahead for one lane."""
    claim_batch: int = 256
    """Lanes taken by one claim."""
    record_batch: int = 500
    """Results written by one transaction."""
    unrecorded_max: int = 1_000
    """With so many results not yet written, nothing is started."""
    linger_ms: int = 2_000
    """A lane with nothing to do is kept this long; five times while there is more to claim."""
    beat_ms: int = 10_000
    """How often an owner writes its heartbeat."""
    lease_ms: int = 30_000
    """After so long without a heartbeat an owner is dead."""
    stale_ms: int = 20_000
    """After so long without a heartbeat an owner starts nothing."""
    poll_intervals_s: tuple[float, ...] = POLL_INTERVALS_S
    """While the bell is down, each level is polled this often."""
    safety_poll_s: float = 90.0
    """With a live bell, one poll serves all levels this often."""
    sweep_batch: int = 500
    """Expired messages moved by one transaction."""
    retain_every_s: float = 3_600.0
    """How often finished work past its time is deleted."""
    keep_bodies_ms: int = 0
    """How long the bodies of delivered messages are kept, unless their queue says so: the setting
    keep_bodies."""
    queue_unused_ms: int = 30 * 86_400_000
    """How long an empty queue is kept that nobody uses and that has no settings."""
    windows: dict[str, int] = {}
    """Sends in flight on one lane of a transport that says so, by its name."""
    audit_max: int = 1_000_000
    """Lines that the audit log keeps of one tenant, some 300 MB; its oldest go first."""


class Limits(Tuning, frozen=True):
    """How much at once, how long, how often: settings."""

    window: int = 64
    """Sends in flight on one lane."""
    in_flight_max: int = 512
    """Sends of one tenant in flight in this process; retries may fill half of them."""
    drain_s: float = 10.0
    """How long a stop waits for sends in flight."""
    history_ms: int = 7 * 86_400_000
    """How long history keeps a finished message."""
    dead_ms: int = 90 * 86_400_000
    """How long the dead set keeps a message."""
    dead_max: int = 100_000
    """How many messages the dead set keeps; the longest dead go first."""
    audit_ms: int = 365 * 86_400_000
    """How long the audit log keeps a line."""

    def window_of(self, transport: str) -> int:
        """Sends in flight on one lane of a transport."""
        return min(self.window, self.windows.get(transport, self.window))
