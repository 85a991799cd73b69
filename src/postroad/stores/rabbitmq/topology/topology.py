"""The topology as data: the same on RabbitMQ 3.10 and 4.x. Every name carries a version, because
the arguments of a queue can never be changed."""

import re
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from postroad.model.entities import LaneKey, hashed
from postroad.stores.rabbitmq.delays.delay_queues import LEVELS, UNIT_MS

SHARDS: Final = 8
SHARD_NUMBERS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""The allowed numbers of shards. They are few, so that queues of another number can be found and
drained."""
DELIVERIES_MAX: Final = 20
"""The broker's own delivery limit. A crash loop is found long before, by noted starts."""
RETURNS_MAX: Final = 1_000_000
"""The limit of queues that must never drop a returned message: 4.x drops at 20 by default, and
3.10 has no "unlimited"."""
PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
Arguments = dict[str, str | int | bool]
QUORUM: Final[Arguments] = {"x-queue-type": "quorum", "x-overflow": "reject-publish"}


class Exchange(Struct, frozen=True):
    """A durable exchange."""

    name: str
    kind: str
    arguments: Arguments = {}


class BrokerQueue(Struct, frozen=True):
    """A durable queue in the broker."""

    name: str
    arguments: Arguments


class Binding(Struct, frozen=True):
    """A binding from an exchange to a queue or to another exchange."""

    source: str
    target: str
    key: str
    to_exchange: bool = False


class Plan(Struct, frozen=True):
    """What to declare, in this order."""

    exchanges: list[Exchange]
    broker_queues: list[BrokerQueue]
    bindings: list[Binding]


class Topology:
    """All names. `label` is the version. Other arguments or another number of shards get another
    label, so that old and new queues exist side by side while the old ones are drained."""

    def __init__(self, prefix: str = "postroad", shards: int = SHARDS) -> None:
        self.prefix = prefix
        self.shards = shards
        self.label = "v1" if shards == SHARDS else f"v1s{shards}"
        self.instant = self.name("in")
        self.delay = self.name("delay")
        self.wake = self.name("wake")
        self.dead_exchange = self.name("dead.x")
        self.dead = self.name("dead")
        self.lost_exchange = self.name("lost.x")
        self.lost = self.name("lost")
        self.fleet = self.name("fleet")
        self.made = self.name("made")

    def name(self, rest: str) -> str:
        """The full name of something in the broker."""
        return f"{self.prefix}.{self.label}.{rest}"

    def target(self, key: LaneKey) -> str:
        """The target of a lane: its routing key, and the end of its broker queue's name. A handler
        has its own queue with competing consumers; all other lanes share the shards."""
        if key.transport == "handler":
            return handler_target(key.server)
        text = f"{key.tenant}\0{key.transport}\0{key.server}\0{key.credential}\0{key.shard}"
        return f"shard.{hashed(text, self.shards)}"

    def shard_targets(self) -> list[str]:
        """The targets of all shards."""
        return [f"shard.{number}" for number in range(self.shards)]

    def broker_queues(self) -> list[str]:
        """The names of all queues in which messages wait, except those of handlers."""
        delays = [self.name(f"delay.{level}") for level in range(LEVELS)]
        return delays + [self.name(target) for target in self.shard_targets()]

    def plan(self) -> Plan:
        """Everything except the queues of handlers."""
        exchanges, broker_queues, bindings = self._frame()
        for level in range(LEVELS):
            after = self.name(f"after.{level}")
            broker_queue = self.name(f"delay.{level}")
            exchanges.append(Exchange(after, "topic", self._caught()))
            broker_queues.append(BrokerQueue(broker_queue, self._wait(after, UNIT_MS << level)))
            bindings.append(Binding(self.delay, broker_queue, f"d{level}.#"))
            bindings += [
                Binding(after, self.name(f"delay.{lower}"), f"#.d{level}.d{lower}.#")
                for lower in range(level)
            ]
            bindings.append(Binding(after, self.wake, f"#.d{level}.to.#", to_exchange=True))
        for target in self.shard_targets():
            some = self.consumed(target)
            broker_queues += some.broker_queues
            bindings += some.bindings
        return Plan(exchanges, broker_queues, bindings)

    def consumed(self, target: str) -> Plan:
        """The queue of a target, and its bindings."""
        name = self.name(target)
        arguments: Arguments = {
            **QUORUM,
            "x-delivery-limit": DELIVERIES_MAX,
            "x-dead-letter-exchange": self.dead_exchange,
            "x-dead-letter-strategy": "at-least-once",
        }
        if target.startswith("shard."):
            arguments["x-single-active-consumer"] = True
        bindings = [Binding(self.instant, name, target), Binding(self.wake, name, f"#.to.{target}")]
        return Plan([], [BrokerQueue(name, arguments)], bindings)

    def _frame(self) -> tuple[list[Exchange], list[BrokerQueue], list[Binding]]:
        kept: Arguments = {**QUORUM, "x-delivery-limit": RETURNS_MAX}
        exchanges = [
            Exchange(self.lost_exchange, "fanout"),
            Exchange(self.dead_exchange, "fanout"),
            Exchange(self.fleet, "fanout"),
            Exchange(self.instant, "direct"),
            Exchange(self.delay, "topic"),
            Exchange(self.wake, "topic", self._caught()),
        ]
        bindings = [
            Binding(self.lost_exchange, self.lost, ""),
            Binding(self.dead_exchange, self.dead, ""),
        ]
        return exchanges, [BrokerQueue(self.lost, kept), BrokerQueue(self.dead, kept)], bindings

    def _caught(self) -> Arguments:
        """Send what cannot be routed to the catch-all queue. With at-least-once dead-lettering one
        unroutable letter would stop its whole delay queue."""
        return {"alternate-exchange": self.lost_exchange}

    def _wait(self, after: str, ttl_ms: int) -> Arguments:
        return {
            **QUORUM,
            "x-message-ttl": ttl_ms,
            "x-dead-letter-exchange": after,
            "x-dead-letter-strategy": "at-least-once",
            "x-delivery-limit": RETURNS_MAX,
        }


def handler_target(name: str) -> str:
    """The target of a handler. A long or unusual name is hashed: a routing key has at most 255
    bytes, and `*`, `#` and dots have a meaning there."""
    if PLAIN_WORD.fullmatch(name):
        return f"handler.{name}"
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40]
    return f"handler.{plain}_{blake2b(name.encode(), digest_size=8).hexdigest()}"
