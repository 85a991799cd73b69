"""Making lines for the first time. A broker that is killed just after it has made a quorum queue
has lost its log, with what it had confirmed, and has a queue that will never have a leader: what is
published to it is not confirmed, who consumes it loses the link (3.10.8; decision 064)."""

import asyncio
from typing import Final

from pamqp import commands

from postroad.model.errors import BrokerForgot, BrokerLost, StoreError
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.topology.declaring import declare
from postroad.stores.rabbitmq.topology.topology import Plan
from postroad.stores.rabbitmq.wire.address import BrokerAddress
from postroad.stores.rabbitmq.wire.connection import AmqpConnection

ANSWER_S: Final = 10.0
"""A line with a leader answers in milliseconds; the broker gives up on one without after 30 s."""
SAFE_S: Final = 4.0
"""The broker writes the name of a new queue's log 3 s later at most."""
TURN_S: Final = 60.0
ASK_S: Final = 0.2


async def make(address: BrokerAddress, plan: Plan, mark: str, clock: Clock) -> None:
    """Declare it all, and when all of it answers and is safe an exchange as a mark. While there is
    no mark nobody has used it, so a line that does not answer is deleted and made again: there is
    nothing in it. Later none is ever deleted: it might be whole, with its nodes away."""
    connection = await _open(address, clock)
    try:
        if await _is_marked(connection, mark):
            return
        await _take_turn(connection, mark, clock)
        if await _is_marked(connection, mark):  # somebody else had the turn before
            return
        await declare(await connection.channel(), plan)
        if lame := await _leaderless(address, plan, clock):
            channel = await connection.channel()
            # Each has one answer; a refusal is raised.
            _ = await asyncio.gather(*(channel.ask(commands.Queue.Delete(queue=n)) for n in lame))
            await declare(await connection.channel(), plan)
            if lame := await _leaderless(address, plan, clock):
                raise BrokerLost(
                    f"RabbitMQ has no leader for queue {lame[0]!r}: see"
                    f" `rabbitmq-queues quorum_status {lame[0]}`"
                )
        await clock.sleep(SAFE_S)
        channel = await connection.channel()
        await channel.do(commands.Exchange.Declare(exchange=mark, durable=True))
    finally:
        await connection.close()


async def _open(address: BrokerAddress, clock: Clock) -> AmqpConnection:
    return await AmqpConnection.open(
        address, name="postroad makes", on_lost=_unheard, on_blocked=_unheard, clock=clock
    )


async def _is_marked(connection: AmqpConnection, mark: str) -> bool:
    channel = await connection.channel()
    try:
        await channel.do(commands.Exchange.Declare(exchange=mark, passive=True))
    except BrokerForgot:
        return False
    return True


async def _take_turn(connection: AmqpConnection, mark: str, clock: Clock) -> None:
    """One at a time, by a queue that goes with the link: who deletes a line must know that nobody
    has begun to use it meanwhile."""
    until_s = clock.steady_s() + TURN_S
    while True:
        channel = await connection.channel()
        try:
            await channel.do(commands.Queue.Declare(queue=f"{mark}.turn", exclusive=True))
        except BrokerLost:  # 405: another link has it
            if connection.lost is not None or clock.steady_s() > until_s:
                raise
            await clock.sleep(ASK_S)
        else:
            return


async def _leaderless(address: BrokerAddress, plan: Plan, clock: Clock) -> list[str]:
    """The lines that do not answer, over a link of their own: the broker may end it for that. Each
    is asked for a message: passive declares are answered without a leader, too."""
    connection = await _open(address, clock)
    try:
        channels = [await connection.channel() for _ in plan.broker_queues]
        asked = {
            channel.ask(commands.Basic.Get(queue=broker_queue.name)): broker_queue.name
            for channel, broker_queue in zip(channels, plan.broker_queues, strict=True)
        }
        answered, silent = await asyncio.wait(asked, timeout=ANSWER_S)
        for answer in answered:
            _ = answer.exception()  # a refusal is an answer
        if connection.lost is not None:
            raise connection.lost
        return [asked[answer] for answer in silent]
    finally:
        connection.abort("asked enough")


def _unheard(_: StoreError | str) -> None:
    """What ends it is raised where it is used."""
