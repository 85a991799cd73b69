"""A dead letter that cannot be routed does not stop the delay queue that it was in."""

import pytest
from aiormq.abc import AbstractChannel
from msgspec.structs import replace

from postroad.stores.rabbitmq.delays import delay_queues
from postroad.stores.rabbitmq.topology.topology import Plan, Topology
from tests.rabbitmq.outside import PERSISTENT, Tap, channel_to, declare, depth, until

HELD_BY_BROKER = 32
"""So many unroutable letters stop a delay queue: the slots of the broker's dead-letter worker."""
TOPOLOGY = Topology("stuck", shards=2)
HOPS = delay_queues.walk(delay_queues.UNIT_MS)
GOOD, GONE = "shard.1", "handler.deleted"


def unguarded(plan: Plan) -> Plan:
    """The same without alternate exchanges."""
    bare = [replace(exchange, arguments={}) for exchange in plan.exchanges]
    return replace(plan, exchanges=bare)


async def wait_behind_unroutable(channel: AbstractChannel, plan: Plan) -> Tap:
    """Ten messages wait behind many that have nowhere to go; what comes of them."""
    await declare(channel, plan)
    tap = Tap()
    await tap.open(channel, TOPOLOGY.name(GOOD))
    for target, count in ((GONE, HELD_BY_BROKER + 8), (GOOD, 10)):
        for _ in range(count):
            key = delay_queues.key(HOPS, target)
            await channel.basic_publish(
                target.encode(), exchange=TOPOLOGY.delay, routing_key=key, properties=PERSISTENT
            )
    return tap


async def test_an_unroutable_dead_letter_does_not_freeze_its_delay_queue(dsn: str) -> None:
    async with channel_to(dsn) as channel:
        tap = await wait_behind_unroutable(channel, TOPOLOGY.plan())

        async def all_came() -> bool:
            return len(tap.bodies) == 10

        async def all_caught() -> bool:
            return await depth(channel, TOPOLOGY.lost) == HELD_BY_BROKER + 8

        assert await until(all_came)
        assert await until(all_caught)


@pytest.mark.wide
async def test_without_the_alternate_exchange_it_does(dsn: str) -> None:
    """The guard taken away: a wait of a quarter of a second is not over after ten of them."""
    async with channel_to(dsn) as channel:
        tap = await wait_behind_unroutable(channel, unguarded(TOPOLOGY.plan()))

        async def something_came() -> bool:
            return bool(tap.bodies)

        assert not await until(something_came, 10 * delay_queues.UNIT_MS / 1000)


async def test_a_wait_of_many_hops_is_caught_wherever_it_ends(dsn: str) -> None:
    async with channel_to(dsn) as channel:
        await declare(channel, TOPOLOGY.plan())
        for units in (3, 7):
            key = delay_queues.key(delay_queues.walk(units * delay_queues.UNIT_MS), GONE)
            await channel.basic_publish(b"x", exchange=TOPOLOGY.delay, routing_key=key)
        assert await until(lambda: _holds(channel, 2))


async def _holds(channel: AbstractChannel, count: int) -> bool:
    return await depth(channel, TOPOLOGY.lost) == count
