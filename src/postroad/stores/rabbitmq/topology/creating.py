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
from postroad.stores.rabbitmq.wire.address import Address
from postroad.stores.rabbitmq.wire.connection import Link

ANSWER_S: Final = 10.0
"""A line with a leader answers in milliseconds; the broker gives up on one without after 30 s."""
SAFE_S: Final = 4.0
"""The broker writes the name of a new queue's log 3 s later at most."""
TURN_S: Final = 60.0
ASK_S: Final = 0.2


async def make(address: Address, plan: Plan, mark: str, clock: Clock) -> None:
    """Declare it all, and when all of it answers and is safe an exchange as a mark. While there is
    no mark nobody has used it, so a line that does not answer is deleted and made again: there is
    nothing in it. Later none is ever deleted: it might be whole, with its nodes away."""
    link = await _open(address, clock)
    try:
        if await _is_marked(link, mark):
            return
        await _take_turn(link, mark, clock)
        if await _is_marked(link, mark):  # somebody else had the turn before
            return
        await declare(await link.channel(), plan)
        if lame := await _leaderless(address, plan, clock):
            channel = await link.channel()
            # Each has one answer; a refusal is raised.
            _ = await asyncio.gather(*(channel.ask(commands.Queue.Delete(queue=n)) for n in lame))
            await declare(await link.channel(), plan)
            if lame := await _leaderless(address, plan, clock):
                raise BrokerLost(
                    f"RabbitMQ has no leader for queue {lame[0]!r}: see"
                    f" `rabbitmq-queues quorum_status {lame[0]}`"
                )
        await clock.sleep(SAFE_S)
        channel = await link.channel()
        await channel.do(commands.Exchange.Declare(exchange=mark, durable=True))
    finally:
        await link.close()


async def _open(address: Address, clock: Clock) -> Link:
    return await Link.open(
        address, name="postroad makes", on_lost=_unheard, on_blocked=_unheard, clock=clock
    )


async def _is_marked(link: Link, mark: str) -> bool:
    channel = await link.channel()
    try:
        await channel.do(commands.Exchange.Declare(exchange=mark, passive=True))
    except BrokerForgot:
        return False
    return True


async def _take_turn(link: Link, mark: str, clock: Clock) -> None:
    """One at a time, by a queue that goes with the link: who deletes a line must know that nobody
    has begun to use it meanwhile."""
    until_s = clock.steady_s() + TURN_S
    while True:
        channel = await link.channel()
        try:
            await channel.do(commands.Queue.Declare(queue=f"{mark}.turn", exclusive=True))
        except BrokerLost:  # 405: another link has it
            if link.lost is not None or clock.steady_s() > until_s:
                raise
            await clock.sleep(ASK_S)
        else:
            return


async def _leaderless(address: Address, plan: Plan, clock: Clock) -> list[str]:
    """The lines that do not answer, over a link of their own: the broker may end it for that. Each
    is asked for a message: passive declares are answered without a leader, too."""
    link = await _open(address, clock)
    try:
        channels = [await link.channel() for _ in plan.lines]
        asked = {
            channel.ask(commands.Basic.Get(queue=line.name)): line.name
            for channel, line in zip(channels, plan.lines, strict=True)
        }
        answered, silent = await asyncio.wait(asked, timeout=ANSWER_S)
        for answer in answered:
            _ = answer.exception()  # a refusal is an answer
        if link.lost is not None:
            raise link.lost
        return [asked[answer] for answer in silent]
    finally:
        link.abort("asked enough")


def _unheard(_: StoreError | str) -> None:
    """What ends it is raised where it is used."""
