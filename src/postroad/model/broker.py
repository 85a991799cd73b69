"""How a broker beside a state store stands, as one process sees it."""

from msgspec import Struct


class BrokerFacts(Struct, frozen=True):
    """What is worth watching. Lines are queues of the broker."""

    version: str
    blocked: str
    """Why the broker takes nothing; "" when it does."""
    workers: int
    """Workers that were heard lately, this one included; 0 when none runs here."""
    shards: int
    """Shards that are served here."""
    dead_waiting: int
    """Letters in the dead line, which the collector should have emptied."""
    lost_waiting: int
    """Messages in the catch-all line, which should be empty."""
    lost_sent_on: int
    """Messages that had nowhere to go, and that this process sent on since it started…"""
    lost_buried: int
    """…or put into the dead set."""
