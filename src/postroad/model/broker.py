"""The state of a RabbitMQ broker, as one process sees it."""

from msgspec import Struct


class BrokerFacts(Struct, frozen=True):
    """What to watch in a broker."""

    version: str
    blocked: str
    """Why the broker takes no messages; "" when it takes them."""
    workers: int
    """Workers that are alive, this one included; 0 when none runs here."""
    shards: int
    """Shards that this process serves."""
    dead_waiting: int
    """Letters in the dead queue, which the collector should keep empty."""
    lost_waiting: int
    """Messages in the catch-all queue, which should be empty."""
    lost_sent_on: int
    """Unroutable messages that this process has sent on since it started…"""
    lost_dead: int
    """…or has put into the dead set."""
