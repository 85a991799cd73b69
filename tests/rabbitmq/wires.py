"""Links for tests: what they hear is written down."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pamqp import commands

from postroad.model.errors import StoreError
from postroad.stores.rabbitmq.wire.address import read_address
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery, Properties


class Heard:
    """What a link told."""

    def __init__(self) -> None:
        self.lost: list[StoreError] = []
        self.blocked: list[str] = []


async def opened(dsn: str, heard: Heard | None = None, **more: Any) -> AmqpConnection:
    """A link of that address."""
    told = heard or Heard()
    address = read_address(dsn)
    return await AmqpConnection.open(
        address,
        name="test",
        on_lost=told.lost.append,
        on_blocked=told.blocked.append,
        **more,
    )


@asynccontextmanager
async def linked(
    dsn: str, heard: Heard | None = None, **more: Any
) -> AsyncIterator[AmqpConnection]:
    """A link, closed at the end."""
    link = await opened(dsn, heard, **more)
    try:
        yield link
    finally:
        await link.close()


async def declare(channel: AmqpChannel, queue: str, **arguments: Any) -> str:
    """A quorum queue; arguments as in x_max_length=1."""
    named = {name.replace("_", "-"): value for name, value in arguments.items()}
    asked = {"x-queue-type": "quorum", **named}
    await channel.call(commands.Queue.Declare(queue=queue, durable=True, arguments=asked))
    return queue


async def put(channel: AmqpChannel, queue: str, *bodies: bytes) -> None:
    """Publish and await the confirms."""
    confirms = [
        channel.publish("", queue, body, Properties(message_id=str(number)))
        for number, body in enumerate(bodies)
    ]
    await asyncio.gather(*[each for each in confirms if each is not None])


async def until(true: Callable[[], object]) -> None:
    """Wait on a condition; the test's own bound ends it."""
    while not true():
        await asyncio.sleep(0.01)


async def drained(channel: AmqpChannel, queue: str) -> list[Delivery]:
    """Everything that is ready in the queue, acked."""
    told = await channel.call(commands.Queue.Declare(queue=queue, passive=True))
    found: list[Delivery] = []

    def take(message: Delivery) -> None:
        found.append(message)
        channel.ack(message.tag)

    tag = await channel.consume(queue, take, prefetch=1_000)
    await until(lambda: len(found) >= told.message_count)
    await channel.cancel(tag)
    return found
