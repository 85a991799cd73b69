"""Whether a broker can do what it would silently leave out."""

from contextlib import suppress

from pamqp import commands

from postroad.model.errors import BrokerLost
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.wire.address import BrokerAddress
from postroad.stores.rabbitmq.wire.connection import AmqpConnection


async def check_features(address: BrokerAddress, name: str, clock: Clock) -> None:
    """A ServerTooOld when feature flag `stream_queue` is off: delay queues would then let go of
    messages before their targets have them, and only the broker's log would say so.

    A stream that is not durable is refused by every broker, with the flag off for the flag's sake:
    so nothing is made by asking. A link of its own, which that refusal closes.
    """
    connection = await _open(address, clock)
    try:
        channel = await connection.channel()
        with suppress(BrokerLost):  # "invalid property": as it should be
            await channel.do(
                commands.Queue.Declare(queue=name, arguments={"x-queue-type": "stream"})
            )
    finally:
        await connection.close()


async def version_of(address: BrokerAddress, clock: Clock) -> str:
    """The broker's version, for one who must make nothing there."""
    connection = await _open(address, clock)
    await connection.close()
    return connection.server.version


async def _open(address: BrokerAddress, clock: Clock) -> AmqpConnection:
    return await AmqpConnection.open(
        address, name="postroad asks", on_lost=_unheard, on_blocked=_unheard, clock=clock
    )


def _unheard(_: object) -> None:
    """What ends it is the answer."""
