"""Declares a plan in the broker. What exists already must have the same arguments."""

import asyncio

from pamqp import base, commands

from postroad.stores.rabbitmq.topology.topology import Binding, Plan
from postroad.stores.rabbitmq.wire.channel import AmqpChannel, Answer


async def declare(channel: AmqpChannel, plan: Plan) -> None:
    """Declare a plan in one round trip. TopologyDiffers is raised, and the channel closed, when
    something of that name has other arguments."""
    _ = await asyncio.gather(*ask(channel, plan))  # only refusals matter, and they are raised


def ask(channel: AmqpChannel, plan: Plan) -> list[asyncio.Future[Answer]]:
    """Declare a plan without waiting. What is published on this channel afterwards finds it."""
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
    """How many messages of a broker queue are not delivered to anybody."""
    answer = await channel.call(commands.Queue.Declare(queue=broker_queue, passive=True))
    return int(answer.message_count)


def _bind(binding: Binding) -> base.Frame:
    source, target, key = binding.source, binding.target, binding.key
    if binding.to_exchange:
        return commands.Exchange.Bind(destination=target, source=source, routing_key=key)
    return commands.Queue.Bind(queue=target, exchange=source, routing_key=key)
