"""Checks for features that a broker would otherwise silently leave out."""

from contextlib import suppress

from pamqp import commands

from postroad.model.errors import BrokerLost
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.wire.address import BrokerAddress
from postroad.stores.rabbitmq.wire.connection import AmqpConnection


async def check_features(address: BrokerAddress, name: str, clock: Clock) -> None:
    """Raise ServerTooOld when the feature flag `stream_queue` is off. Without it delay queues drop
    messages before their targets have stored them, and only the broker's log says so.

    The check declares a stream that is not durable. Every broker refuses that, and with the flag
    off it names the flag, so nothing is created. The refusal closes the connection, so the check
    uses its own.
    """
    connection = await AmqpConnection.open(address, name="postroad asks", clock=clock)
    try:
        channel = await connection.channel()
        with suppress(BrokerLost):  # "invalid property": the flag is on
            await channel.do(
                commands.Queue.Declare(queue=name, arguments={"x-queue-type": "stream"})
            )
    finally:
        await connection.close()


async def version_of(address: BrokerAddress, clock: Clock) -> str:
    """The broker's version. Nothing is declared there."""
    connection = await AmqpConnection.open(address, name="postroad asks", clock=clock)
    await connection.close()
    return connection.server.version
