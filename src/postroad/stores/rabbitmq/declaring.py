"""Declares the topology: what is there already must be what it is to be."""

import asyncio

from pamqp import commands

from postroad.stores.rabbitmq.topology import Plan
from postroad.stores.rabbitmq.wire.channel import Channel


async def declare(channel: Channel, plan: Plan) -> None:
    """All of a plan, in one round trip. A TopologyDiffers when something of that name is there
    with other arguments, which ends the channel."""
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
            commands.Queue.Declare(queue=line.name, durable=True, arguments=dict(line.arguments))
        )
        for line in plan.lines
    ]
    for binding in plan.bindings:
        if binding.to_exchange:
            bind = commands.Exchange.Bind(
                destination=binding.target, source=binding.source, routing_key=binding.key
            )
        else:
            bind = commands.Queue.Bind(
                queue=binding.target, exchange=binding.source, routing_key=binding.key
            )
        asked.append(channel.ask(bind))
    await asyncio.gather(*asked)


async def ready(channel: Channel, line: str) -> int:
    """How many messages of a line nobody has been given."""
    answer = await channel.call(commands.Queue.Declare(queue=line, passive=True))
    return int(answer.message_count)
