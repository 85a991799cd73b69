"""The options in a RabbitMQ DSN."""

from typing import Final
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from postroad.model.errors import BadDsn
from postroad.stores.rabbitmq.topology.topology import PLAIN_WORD, SHARD_NUMBERS, SHARDS
from postroad.stores.rabbitmq.wire.address import BrokerAddress, read_address

STATE: Final = "sqlite:///postroad-state.db"
PREFETCH: Final = 512
NAMES: Final = ("state", "prefix", "shards", "prefetch")


class RabbitOptions(Struct, frozen=True):
    """The broker, the state store beside it, and how the broker is used."""

    address: BrokerAddress
    state: str = STATE
    prefix: str = "postroad"
    shards: int = SHARDS
    """The number of broker queues that lanes are spread over; each number has its own queues."""
    prefetch: int = PREFETCH
    """The maximum of unacked messages of one broker queue in this process."""


def read_options(dsn: str) -> RabbitOptions:
    """Parse an `amqp://…?state=…` address. BadDsn says what is wrong."""
    address = read_address(dsn)
    query = urlsplit(dsn).query.replace("+", "%2B")  # a password may contain one
    asked = parse_qs(query, keep_blank_values=True)
    for name, values in asked.items():
        if name not in NAMES or len(values) > 1:
            raise BadDsn(f"{name}= is not understood: a RabbitMQ address takes {', '.join(NAMES)}")
    given = {name: values[0] for name, values in asked.items()}
    state, prefix = given.get("state", STATE), given.get("prefix", "postroad")
    if not state.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise BadDsn("state=: the state store is sqlite:///FILE or postgresql://…")  # no password
    if not PLAIN_WORD.fullmatch(prefix):
        raise BadDsn(f"prefix={prefix!r}: give letters, digits, - and _, at most 64")
    shards = _number(given, "shards", SHARDS, 256)
    if shards not in SHARD_NUMBERS:
        raise BadDsn(f"shards={shards}: give a power of two, from 1 to 256")
    return RabbitOptions(
        address, state, prefix, shards, _number(given, "prefetch", PREFETCH, 65_535)
    )


def _number(given: dict[str, str], name: str, usual: int, most: int) -> int:
    text = given.get(name, str(usual))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise BadDsn(f"{name}={text[:40]!r}: give a number from 1 to {most}")
    return int(text)
