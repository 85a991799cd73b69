"""A private RabbitMQ, and what lies in its queues, seen over a connection of our own."""

import asyncio
import contextlib
import re
import secrets
import time
from array import array
from collections.abc import AsyncIterator, Sequence
from typing import Any

from msgspec import Struct
from pamqp import commands

from bench.disk import refuse_memory
from bench.shape import Durability, RunFailed
from postroad.model.errors import TopologyDiffers
from postroad.stores.rabbitmq.wire.address import read_address
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery, Properties
from tests.servers.rabbitmq import PrivateRabbit

QUORUM: dict[str, Any] = {"x-queue-type": "quorum"}
PADDING = "x" * 180
WARM = 100
SETTLE_S = 0.5
"""A broker applies the last acks a little after it has read them."""
LOOK_S = 20.0


def start_broker() -> PrivateRabbit:
    """A broker that ends with this process, on a disk."""
    broker = PrivateRabbit()
    broker.__enter__()
    if broker.folder is not None:
        refuse_memory(broker.folder)
    return broker


def body(number: int) -> dict[str, object]:
    """Some 200 bytes as JSON."""
    return {"n": number, "text": PADDING}


@contextlib.asynccontextmanager
async def linked(dsn: str) -> AsyncIterator[AmqpConnection]:
    """A connection beside the contestant's."""
    link = await AmqpConnection.open(
        read_address(dsn), name="bench", on_lost=lambda _: None, on_blocked=lambda _: None
    )
    try:
        yield link
    finally:
        await link.close()


@contextlib.asynccontextmanager
async def fresh_queue(dsn: str, arguments: dict[str, Any] | None = None) -> AsyncIterator[str]:
    """A durable quorum queue, deleted afterwards."""
    name = f"bench.{secrets.token_hex(6)}"
    async with linked(dsn) as link:
        channel = await link.channel()
        await channel.call(
            commands.Queue.Declare(queue=name, durable=True, arguments=arguments or QUORUM)
        )
        yield name
        await (await link.channel()).call(commands.Queue.Delete(queue=name))


class Letter(Struct, frozen=True):
    """What a peer would have published."""

    properties: Properties
    body: bytes


async def fill(dsn: str, queue: str, letters: Sequence[Letter]) -> None:
    """Publish them, confirmed."""
    async with linked(dsn) as link:
        channel = await link.channel(confirms=True)
        for first in range(0, len(letters), 1_000):
            some = letters[first : first + 1_000]
            confirms = [channel.publish("", queue, one.body, one.properties) for one in some]
            await asyncio.gather(*[each for each in confirms if each is not None])


async def left(dsn: str, queue: str) -> int:
    """How many messages are in the queue, when nobody consumes it any more."""
    await asyncio.sleep(SETTLE_S)
    async with linked(dsn) as link:
        told = await (await link.channel()).call(commands.Queue.Declare(queue=queue, passive=True))
        return int(told.message_count)


async def emptied(dsn: str, queue: str, count: int) -> list[Delivery]:
    """Take so many out of a queue that has them."""
    found: list[Delivery] = []
    async with linked(dsn) as link:
        channel = await link.channel()

        def take(message: Delivery) -> None:
            found.append(message)
            channel.ack(message.tag)

        await channel.consume(queue, take, prefetch=1_000)
        end_s = time.perf_counter() + LOOK_S
        while len(found) < count and time.perf_counter() < end_s:
            await asyncio.sleep(0.01)
        await asyncio.sleep(SETTLE_S)
    return found


async def durability(dsn: str, queue: str, arguments: dict[str, Any]) -> Durability:
    """What the broker says the queue is: it is asked for a classic one, and answers what it has."""
    async with linked(dsn) as link:
        channel: AmqpChannel = await link.channel()
        wrong = {**arguments, "x-queue-type": "classic"}
        try:
            await channel.call(commands.Queue.Declare(queue=queue, durable=True, arguments=wrong))
        except TopologyDiffers as error:
            told = re.search(r"current is (?:the value )?'(\w+)'", str(error))
            if told is None:
                raise RunFailed(f"nobody knows what {queue} is: {error}") from error
            # A quorum queue is durable, and syncs its log before it confirms.
            return Durability(f"{told[1]} queue", 2 if told[1] == "quorum" else 0)
    raise RunFailed(f"{queue} is a classic queue")


class Arrivals:
    """When each numbered message arrived."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.moments = array("d")

    def note(self, number: int) -> None:
        """It is here."""
        self.numbers.append(number)
        self.moments.append(time.perf_counter())

    @property
    def once(self) -> int:
        """How many came, less those that came twice."""
        return len(self.numbers) - 2 * (len(self.numbers) - len(set(self.numbers)))

    @property
    def seconds(self) -> float:
        """From the first to the last."""
        return max(self.moments) - min(self.moments)
