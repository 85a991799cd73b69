"""Creates quorum queues safely. A broker that is killed just after it created a quorum queue loses
the queue's log with everything it had confirmed. The queue never gets a leader again: publishes to
it are not confirmed, and consumers lose their connection (3.10.8; decision 064)."""

import asyncio
from typing import Final

from pamqp import commands

from postroad.model.errors import BrokerForgot, BrokerLost
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.topology.declaring import declare
from postroad.stores.rabbitmq.topology.topology import Plan
from postroad.stores.rabbitmq.wire.address import BrokerAddress
from postroad.stores.rabbitmq.wire.connection import AmqpConnection

ANSWER_S: Final = 10.0
"""A queue with a leader answers in milliseconds; without one the broker gives up after 30 s."""
SAFE_S: Final = 4.0
"""The broker writes the name of a new queue's log to disk within 3 s."""
LOCK_S: Final = 60.0
ASK_S: Final = 0.2


async def create(address: BrokerAddress, plan: Plan, mark: str, clock: Clock) -> None:
    """Declare a plan, wait until it is safe, then declare an exchange named `mark`. Without that
    mark nobody has used the queues, so one that does not answer is empty and is deleted and created
    again. With the mark no queue is ever deleted: its nodes may only be away."""
    connection = await AmqpConnection.open(address, name="postroad makes", clock=clock)
    try:
        if await _is_marked(connection, mark):
            return
        await _lock(connection, mark, clock)
        if await _is_marked(connection, mark):  # another process created it meanwhile
            return
        await declare(await connection.channel(), plan)
        if lame := await _leaderless(address, plan, clock):
            channel = await connection.channel()
            # Only refusals matter, and they are raised.
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


async def _is_marked(connection: AmqpConnection, mark: str) -> bool:
    channel = await connection.channel()
    try:
        await channel.do(commands.Exchange.Declare(exchange=mark, passive=True))
    except BrokerForgot:
        return False
    return True


async def _lock(connection: AmqpConnection, mark: str, clock: Clock) -> None:
    """Take a lock: an exclusive queue, which is deleted with the connection. A process that deletes
    a queue must know that nobody begins to use it meanwhile."""
    until_s = clock.steady_s() + LOCK_S
    while True:
        channel = await connection.channel()
        try:
            await channel.do(commands.Queue.Declare(queue=f"{mark}.turn", exclusive=True))
        except BrokerLost:  # 405: another connection has it
            if connection.lost is not None or clock.steady_s() > until_s:
                raise
            await clock.sleep(ASK_S)
        else:
            return


async def _leaderless(address: BrokerAddress, plan: Plan, clock: Clock) -> list[str]:
    """The queues that do not answer. Each is asked for a message, since a passive declare is
    answered without a leader, too. The broker may close the connection for that, so it is a
    separate one."""
    connection = await AmqpConnection.open(address, name="postroad makes", clock=clock)
    try:
        channels = [await connection.channel() for _ in plan.broker_queues]
        asked = {
            channel.ask(commands.Basic.Get(queue=broker_queue.name)): broker_queue.name
            for channel, broker_queue in zip(channels, plan.broker_queues, strict=True)
        }
        answered, silent = await asyncio.wait(asked, timeout=ANSWER_S)
        for answer in answered:
            _ = answer.exception()  # a refusal counts as an answer
        if connection.lost is not None:
            raise connection.lost
        return [asked[answer] for answer in silent]
    finally:
        connection.abort("asked enough")
