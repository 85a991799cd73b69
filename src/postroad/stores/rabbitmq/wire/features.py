"""Whether a broker can do what it would silently leave out."""

from contextlib import suppress

from pamqp import commands

from postroad.model.errors import BrokerLost
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.wire.address import Address
from postroad.stores.rabbitmq.wire.connection import Link


async def check_features(address: Address, name: str, clock: Clock) -> None:
    """A ServerTooOld when feature flag `stream_queue` is off: delay queues would then let go of
    messages before their targets have them, and only the broker's log would say so.

    A stream that is not durable is refused by every broker, with the flag off for the flag's sake:
    so nothing is made by asking. A link of its own, which that refusal closes.
    """
    link = await _open(address, clock)
    try:
        channel = await link.channel()
        with suppress(BrokerLost):  # "invalid property": as it should be
            await channel.do(
                commands.Queue.Declare(queue=name, arguments={"x-queue-type": "stream"})
            )
    finally:
        await link.close()


async def version_of(address: Address, clock: Clock) -> str:
    """The broker's version, for one who must make nothing there."""
    link = await _open(address, clock)
    await link.close()
    return link.server.version


async def _open(address: Address, clock: Clock) -> Link:
    return await Link.open(
        address, name="postroad asks", on_lost=_unheard, on_blocked=_unheard, clock=clock
    )


def _unheard(_: object) -> None:
    """What ends it is the answer."""
