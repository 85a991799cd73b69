"""Declares the topology: what is there already must be what it is to be."""

import asyncio

from pamqp import base, commands

from postroad.stores.rabbitmq.topology.topology import Binding, Plan
from postroad.stores.rabbitmq.wire.channel import AmqpChannel, Answer


async def declare(channel: AmqpChannel, plan: Plan) -> None:
    """All of a plan, in one round trip. A TopologyDiffers when something of that name is there
    with other arguments, which ends the channel."""
    _ = await asyncio.gather(*ask(channel, plan))  # each has one answer; a refusal is raised


def ask(channel: AmqpChannel, plan: Plan) -> list[asyncio.Future[Answer]]:
    """The same without waiting: what is published on this channel from now on finds it there."""
    asked = [
        channel.ask(
            commands.Exchange.Declare(
                exchange=exchange.name,
                exchange_type=exchange.kind,
                durable=True,
                arguments=dict(exchange.arguments),
            )
        )
        for exchange in plan.exchanges
    ]
    asked += [
        channel.ask(
            commands.Queue.Declare(
                queue=broker_queue.name, durable=True, arguments=dict(broker_queue.arguments)
            )
        )
        for broker_queue in plan.broker_queues
    ]
    return asked + [channel.ask(_bind(binding)) for binding in plan.bindings]


async def ready_count(channel: AmqpChannel, broker_queue: str) -> int:
    """How many messages of a line nobody has been given."""
    answer = await channel.call(commands.Queue.Declare(queue=broker_queue, passive=True))
    return int(answer.message_count)


def _bind(binding: Binding) -> base.Frame:
    source, target, key = binding.source, binding.target, binding.key
    if binding.to_exchange:
        return commands.Exchange.Bind(destination=target, source=source, routing_key=key)
    return commands.Queue.Bind(queue=target, exchange=source, routing_key=key)
