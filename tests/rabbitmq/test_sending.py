"""Many callers that send: each waits for the confirm of its own message, and for nothing else."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pamqp import commands

from postroad import Message, Postroad, PostroadError
from postroad.engine.drafting import Send
from postroad.model.errors import BodyTooLarge, QueueFull
from postroad.stores.rabbitmq.store import RabbitStore
from tests.rabbitmq.roads import a_road
from tests.rabbitmq.wires import linked, until
from tests.servers.proxy import Proxy
from tests.servers.rabbitmq import PrivateRabbit


def two_handlers(road: Postroad) -> dict[str, list[int]]:
    """What each of two handlers got."""
    got: dict[str, list[int]] = {"small": [], "wide": []}

    @road.handler("small")
    async def small(message: Message[int]) -> None:
        got["small"].append(message.body)

    @road.handler("wide")
    async def wide(message: Message[int]) -> None:
        got["wide"].append(message.body)

    return got


def line(road: Postroad, handler: str) -> str:
    store = road.store
    assert isinstance(store, RabbitStore)
    return store.topology.name(f"handler.{handler}")


async def fill(road: Postroad, broker: PrivateRabbit, dsn: str) -> None:
    """Until the line of "small" refuses what is sent to it."""
    vhost, name = urlsplit(dsn).path[1:], line(road, "small")
    await road.send("small", 0)
    limit = '[{<<"max-length">>, 1}, {<<"overflow">>, <<"reject-publish">>}]'
    policy = f'<<"{vhost}">>, <<"full">>, <<"{name}">>, {limit}, 0, <<"queues">>, <<"test">>'
    await asyncio.to_thread(broker.eval, f"rabbit_policy:set({policy})")

    async def refused() -> bool:
        try:
            await road.send("small", 1)
        except QueueFull:
            return True
        return False

    async with asyncio.timeout(60):
        while not await refused():
            await asyncio.sleep(0.01)


async def test_of_many_that_are_sent_together_each_is_refused_for_itself(
    broker: PrivateRabbit, dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    got: dict[str, int] = {}

    @road.handler("small")
    async def small(message: Message[int]) -> None: ...

    @road.handler("wide")
    async def wide(message: Message[int]) -> None:
        assert message.id not in got
        got[message.id] = message.body

    async with road:
        await fill(road, broker, dsn)
        sends = [Send(("small", "wide")[n % 2], n) for n in range(20)]
        # Somebody else's, in the same turn of the loop: stored beside them, and no worse for it.
        other = asyncio.ensure_future(road.send_many([("wide", 20), ("wide", 21)]))
        with pytest.raises(QueueFull) as raised:
            await road.send_many(sends)
        stored = [*raised.value.stored, *(receipt.id for receipt in await other)]
        each = await road.send_each(sends)
        assert {type(one) for one in each[::2]} == {QueueFull}
        alone = [one for one in each if not isinstance(one, PostroadError)]
        assert all(not error.stored for error in each if isinstance(error, PostroadError))
        await road.run(until_idle=True)
    odd = list(range(1, 20, 2))
    assert [got[number] for number in stored] == [*odd, 20, 21]
    assert [got[one.id] for one in alone] == odd
    assert len(got) == len(stored) + len(alone)


async def test_a_body_that_a_broker_does_not_take_makes_no_copies_of_others(
    dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    got = two_handlers(road)
    road._sending._bytes_max = 1 << 24
    async with road:
        large = asyncio.ensure_future(road.send_many([("wide", "x" * (9 << 20))]))
        await road.send_many([("small", n) for n in range(5)])
        with pytest.raises(BodyTooLarge):
            await large
        store = road.store
        assert isinstance(store, RabbitStore)
        async with asyncio.timeout(60):
            while (lie_there := await store.broker.ready_count(line(road, "small"))) < 5:
                await asyncio.sleep(0.01)
        assert lie_there == 5
        await road.run(until_idle=True)
    assert sorted(got["small"]) == list(range(5))


async def test_a_full_line_fails_its_own_receipts_alone(
    broker: PrivateRabbit, dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    got = two_handlers(road)
    async with road:
        await fill(road, broker, dsn)
        sends = [road.send(("small", "wide")[n % 2], n) for n in range(100)]
        outcomes = await asyncio.gather(*sends, return_exceptions=True)
        assert {type(each) for each in outcomes[::2]} == {QueueFull}
        assert all(not isinstance(each, BaseException) for each in outcomes[1::2])
        await road.run(until_idle=True)
    assert sorted(got["wide"]) == list(range(1, 100, 2))


async def test_a_line_that_was_deleted_is_made_again_for_who_sends(
    dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    got = two_handlers(road)
    async with road:
        await road.send("wide", 0)
        async with linked(dsn) as link:
            name = line(road, "wide")
            await (await link.channel()).call(commands.Queue.Delete(queue=name))
        await asyncio.gather(*[road.send("wide", n) for n in range(1, 50)])
        await road.run(until_idle=True)
    assert sorted(got["wide"]) == list(range(1, 50))


async def test_who_stops_waiting_takes_nothing_back_and_hurts_nobody(
    dsn: str, tmp_path: Path
) -> None:
    with Proxy(dsn) as proxy:
        road = a_road(proxy.dsn(), tmp_path)
        got = two_handlers(road)
        async with road:
            await road.send("wide", 0)
            proxy.hold()
            sends = [asyncio.create_task(road.send("wide", n)) for n in range(1, 21)]
            store = road.store
            assert isinstance(store, RabbitStore)
            channels = store.broker.publisher._channels
            await until(lambda: sum(each.unconfirmed for each in channels) == 20)
            for each in sends[::2]:
                each.cancel()
            proxy.release()
            done = await asyncio.gather(*sends, return_exceptions=True)
            cancelled = [isinstance(each, asyncio.CancelledError) for each in done]
            assert cancelled == [True, False] * 10
            await road.run(until_idle=True)
    assert sorted(got["wide"]) == list(range(21))
