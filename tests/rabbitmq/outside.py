"""A broker seen from outside, by another client than our own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiormq
from aiormq.abc import AbstractChannel, DeliveredMessage

from postroad.stores.rabbitmq.topology.topology import Plan

PERSISTENT = aiormq.spec.Basic.Properties(delivery_mode=2)


@asynccontextmanager
async def channel_to(dsn: str) -> AsyncIterator[AbstractChannel]:
    link = await aiormq.connect(dsn)
    try:
        yield await link.channel()
    finally:
        await link.close()


async def declare(channel: AbstractChannel, plan: Plan) -> None:
    """All of a plan."""
    for exchange in plan.exchanges:
        await channel.exchange_declare(
            exchange.name,
            exchange_type=exchange.kind,
            durable=True,
            arguments={**exchange.arguments},
        )
    for line in plan.broker_queues:
        await channel.queue_declare(line.name, durable=True, arguments={**line.arguments})
    for binding in plan.bindings:
        bind = channel.exchange_bind if binding.to_exchange else channel.queue_bind
        await bind(binding.target, binding.source, binding.key)


async def depth(channel: AbstractChannel, queue: str) -> int:
    """How many are ready there."""
    declared = await channel.queue_declare(queue, passive=True)
    return declared.message_count or 0


class Tap:
    """Takes and acks whatever comes to a queue."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.times_s: list[float] = []

    async def open(self, channel: AbstractChannel, queue: str) -> None:
        async def take(message: DeliveredMessage) -> None:
            self.times_s.append(asyncio.get_running_loop().time())
            self.bodies.append(message.body)
            assert message.delivery_tag is not None
            await channel.basic_ack(message.delivery_tag)

        await channel.basic_consume(queue, take)


async def until(holds: Callable[[], Awaitable[bool]], patience_s: float = 30.0) -> bool:
    """Whether it comes to hold in time."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + patience_s
    while loop.time() < end_s:
        if await holds():
            return True
        await asyncio.sleep(0.05)
    return False
