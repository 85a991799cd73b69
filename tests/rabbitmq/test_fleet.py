"""Workers on a broker: shards are shared out, move when somebody comes or goes, and are served by
one worker at a time even while two disagree."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from postroad.stores.rabbitmq.fleet import fleet
from postroad.stores.rabbitmq.topology.topology import Plan, Topology
from tests.rabbitmq.crews import Worker
from tests.rabbitmq.outside import PERSISTENT, channel_to, declare, until

TOPOLOGY = Topology("fleet")
SHARDS = TOPOLOGY.shards
PATIENCE_S = 60.0


@asynccontextmanager
async def workers(dsn: str, *names: str, plan: Plan | None = None) -> AsyncIterator[list[Worker]]:
    """Workers that came one after the other."""
    async with channel_to(dsn) as channel:
        await declare(channel, plan or TOPOLOGY.plan())
    crew = [Worker(name, TOPOLOGY) for name in names]
    try:
        yield [await worker.start(dsn) for worker in crew]
    finally:
        for worker in crew:
            await worker.close()


async def shared_out(crew: Iterable[Worker]) -> bool:
    """Every shard is served by one of them, in even shares."""
    shares = [worker.housekeeping.fleet.mine for worker in crew]
    even = SHARDS // len(shares)
    each = {shard for share in shares for shard in share}
    return len(each) == SHARDS == sum(map(len, shares)) and min(map(len, shares)) >= even


async def put_in_each_shard(dsn: str, body: bytes) -> None:
    async with channel_to(dsn) as channel:
        for target in TOPOLOGY.shard_targets():
            await channel.basic_publish(
                body, exchange=TOPOLOGY.instant, routing_key=target, properties=PERSISTENT
            )


def held(worker: Worker) -> int:
    return sum(map(len, worker.held.values()))


async def test_a_new_worker_gets_its_share_and_a_leaving_ones_goes_to_the_others(dsn: str) -> None:
    async with workers(dsn, "ada") as (ada,):
        assert await until(lambda: shared_out([ada]), PATIENCE_S)
        bob = await Worker("bob", TOPOLOGY).start(dsn)
        assert await until(lambda: shared_out([ada, bob]), PATIENCE_S)
        await bob.stop()
        assert await until(lambda: shared_out([ada]), PATIENCE_S)


async def test_the_shards_of_a_killed_worker_move(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "BEAT_S", 0.5)
    async with workers(dsn, "ada", "bob") as (ada, bob):
        assert await until(lambda: shared_out([ada, bob]), PATIENCE_S)
        await put_in_each_shard(dsn, b"x")

        async def all_held() -> bool:
            return held(ada) + held(bob) == SHARDS

        assert await until(all_held, PATIENCE_S)
        ada.housekeeping.fleet._roster._silent_s = 2.0  # and not 10
        bob.die()

        async def all_moved() -> bool:
            return held(ada) == SHARDS

        assert await until(all_moved, PATIENCE_S)


async def disagreeing(dsn: str, plan: Plan) -> tuple[int, int]:
    """Two workers each think that they are alone; what each is given of three messages a shard."""
    async with workers(dsn, "ada", plan=plan) as (ada,):
        assert await until(lambda: shared_out([ada]), PATIENCE_S)
        apart = Topology("fleet")
        apart.fleet = apart.name("apart")  # they do not hear each other
        async with channel_to(dsn) as channel:
            await channel.exchange_declare(apart.fleet, exchange_type="fanout", durable=True)
        bob = Worker("bob", apart)
        try:
            await bob.start(dsn)
            assert await until(lambda: shared_out([bob]), PATIENCE_S)
            for _ in range(3):
                await put_in_each_shard(dsn, b"x")

            async def all_held() -> bool:
                return held(ada) + held(bob) == 3 * SHARDS

            assert await until(all_held, PATIENCE_S)
            return held(ada), held(bob)
        finally:
            await bob.close()


async def test_of_two_that_disagree_the_broker_lets_one_serve_a_shard(dsn: str) -> None:
    assert await disagreeing(dsn, TOPOLOGY.plan()) == (3 * SHARDS, 0)


async def test_without_the_single_active_consumer_both_would(dsn: str) -> None:
    plan = TOPOLOGY.plan()
    bare = [
        replace(
            line,
            arguments={
                name: value
                for name, value in line.arguments.items()
                if name != "x-single-active-consumer"
            },
        )
        for line in plan.broker_queues
    ]
    given = await disagreeing(dsn, replace(plan, broker_queues=bare))
    assert min(given) > 0
