"""The wire, over a real broker."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop
from pamqp import commands

from postroad.model.errors import (
    BrokerForgot,
    BrokerLost,
    QueueFull,
    StoreError,
    TopologyDiffers,
    Unroutable,
)
from postroad.stores.rabbitmq.wire.properties import Delivery, Properties
from tests.rabbitmq.wires import Heard, declare, drained, linked, opened, put, until
from tests.servers.proxy import Proxy
from tests.servers.rabbitmq import PrivateRabbit

Within = Callable[[Coroutine[Any, Any, Any]], Any]

SIZES = (0, 1, 131_063, 131_064, 131_065, 262_128, 262_129, 1_048_576)


def test_what_is_published_comes_back_byte_for_byte(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with linked(dsn) as link:
            channel = await link.channel(confirms=True)
            queue = await declare(channel, "q")
            drawn = random.Random(7)
            bodies = [drawn.randbytes(size) for size in SIZES]
            await put(channel, queue, *bodies)
            assert [each.body for each in await drained(channel, queue)] == bodies

            arrived: list[Delivery] = []
            await channel.consume(queue, arrived.append, prefetch=3)
            for body in bodies:
                await put(channel, queue, body)
                await until(lambda: arrived)
                got = arrived.pop()
                assert (got.body, got.key, got.exchange, got.redelivered) == (body, "q", "", False)
                channel.ack(got.tag)

    within(story())


def test_properties_travel_with_the_message(dsn: str, within: Within) -> None:
    sent = Properties(
        headers={
            "retry-max": 7,
            "text": "ż",
            "none": None,
            "list": [1, "a", {"x": 1.5}],
            "on": True,
        },
        message_id="m-1",
        content_type="application/json",
        content_encoding="utf-8",
        priority=3,
        correlation_id="c",
        reply_to="r",
        timestamp=1_767_225_600,
        type="t",
        app_id="a",
    )

    async def story() -> Properties:
        async with linked(dsn) as link:
            channel = await link.channel(confirms=True)
            queue = await declare(channel, "q")
            confirm = channel.publish("", queue, b"x", sent)
            assert confirm is not None
            await confirm
            got = await channel.get(queue)
            assert got is not None
            return got.properties

    got = within(story())
    assert got.headers.pop("x-delivery-count") == 0  # which the queue adds
    assert got == sent


def test_an_unroutable_message_fails_its_own_receipt_alone(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with linked(dsn) as link:
            channel = await link.channel(confirms=True)
            queue = await declare(channel, "q")
            confirms = []
            for number in range(300):
                key = "nowhere" if number % 3 == 0 else queue
                found = channel.publish("", key, b"x", Properties(message_id=f"m{number}"))
                assert found is not None
                confirms.append(found)
            results = await asyncio.gather(*confirms, return_exceptions=True)
            for number, result in enumerate(results):
                assert isinstance(result, Unroutable) if number % 3 == 0 else result is None
            assert "nowhere" in str(results[0])
            assert channel.unconfirmed == 0
            assert len(await drained(channel, queue)) == 200

    within(story())


def test_a_return_without_confirms_is_told(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with linked(dsn) as link:
            channel = await link.channel()
            told: list[Unroutable] = []
            channel.on_return = told.append
            assert channel.publish("", "nowhere", b"x", Properties(message_id="m")) is None
            await until(lambda: told)

    within(story())


def test_a_full_queue_refuses(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with linked(dsn) as link:
            channel = await link.channel(confirms=True)
            queue = await declare(channel, "q", x_max_length=5, x_overflow="reject-publish")
            refused = 0
            for number in range(50):
                confirm = channel.publish("", queue, b"x", Properties(message_id=str(number)))
                assert confirm is not None
                try:
                    await confirm
                except QueueFull:
                    refused += 1
            assert refused > 0
            assert len(await drained(channel, queue)) == 50 - refused

    within(story())


def test_acks_in_any_order_settle_exactly_what_was_acked(
    broker: PrivateRabbit, dsn: str, within: Within
) -> None:
    async def story() -> None:
        drawn = random.Random(3)
        async with linked(dsn) as link:
            channel = await link.channel(confirms=True)
            queue = await declare(channel, "q")
            bodies = [str(number).encode() for number in range(500)]
            await put(channel, queue, *bodies)
            held: list[Delivery] = []
            reader = await link.channel()
            await reader.consume(queue, held.append, prefetch=0)
            await until(lambda: len(held) == 500)
            order = held.copy()
            drawn.shuffle(order)
            kept = {each.body for each in order[:123]}
            for number, each in enumerate(order[123:]):
                reader.ack(each.tag)
                if number % 50 == 0:
                    await asyncio.sleep(0)  # a flush in between
            # The broker applies acks in its own time, and forgets those it has not when we close.
            while await asyncio.to_thread(broker.depth, dsn, queue) > 123:
                await asyncio.sleep(0.01)
            await reader.close()
            again: list[Delivery] = []
            while len(again) < 123:  # given back when the broker gets round to it
                again += await drained(channel, queue)
            assert {each.body for each in again} == kept
            assert all(each.redelivered for each in again)

    within(story())


def test_a_nack_gives_back_or_lets_go(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with linked(dsn) as link:
            channel = await link.channel(confirms=True)
            queue = await declare(channel, "q")
            await put(channel, queue, b"back", b"gone", b"done")
            held = [await channel.get(queue) for _ in range(3)]
            back, gone, done = [each.tag for each in held if each is not None]
            channel.ack(done)
            channel.nack(back, requeue=True)
            channel.nack(gone, requeue=False)
            await channel.close()
            other = await link.channel()
            left: list[Delivery] = []
            while not left:
                left = await drained(other, queue)
            assert [each.body for each in left] == [b"back"]

    within(story())


def test_an_error_ends_its_channel_and_nothing_else(dsn: str, within: Within) -> None:
    async def story() -> None:
        heard = Heard()
        async with linked(dsn, heard) as link:
            ended: list[StoreError] = []
            broken = await link.channel(confirms=True, on_lost=ended.append)
            other = await link.channel(confirms=True)
            queue = await declare(other, "q")
            wrong = broken.ask(
                commands.Queue.Declare(queue=queue, durable=True, arguments={"x-max-length": 3})
            )
            behind = broken.ask(commands.Queue.Declare(queue=queue, passive=True))
            confirm = broken.publish("", queue, b"x", Properties(message_id="m"))
            assert confirm is not None
            for waiting in (wrong, behind, confirm):
                with pytest.raises(TopologyDiffers, match="prefix of its own"):
                    await waiting
            assert [type(each) for each in ended] == [TopologyDiffers]
            with pytest.raises(TopologyDiffers):
                broken.publish("", queue, b"x", b"\0\0")
            broken.ack(1)  # dropped in silence
            with pytest.raises(BrokerForgot, match="no queue 'missing'"):
                await (await link.channel()).get("missing")
            await put(other, queue, b"fine")
            assert heard.lost == []
            assert link.lost is None

    within(story())


def test_links_open_on_the_loop_of_the_command_line_too(dsn: str) -> None:
    async def story() -> None:
        async with asyncio.timeout(60):
            for _ in range(50):
                async with linked(dsn) as link:
                    assert (await link.channel(confirms=True)).lost is None

    uvloop.run(story())


def test_channels_come_and_go_without_end(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with linked(dsn) as link:
            numbers = set()
            for _ in range(100):
                channel = await link.channel()
                numbers.add(channel.number)
                await channel.close()
            assert numbers == {1}

    within(story())


def test_a_deleted_queue_ends_its_consumer(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with linked(dsn) as link:
            channel = await link.channel()
            queue = await declare(channel, "q")
            gone = asyncio.Event()
            await channel.consume(queue, lambda _: None, prefetch=1, on_cancel=gone.set)
            await (await link.channel()).call(commands.Queue.Delete(queue=queue))
            await gone.wait()
            assert channel.lost is None

    within(story())


def test_a_cancelled_consumer_gets_nothing_more(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with linked(dsn) as link:
            channel = await link.channel(confirms=True)
            queue = await declare(channel, "q")
            held: list[Delivery] = []
            tag = await channel.consume(queue, held.append, prefetch=10)
            await put(channel, queue, b"1")
            await until(lambda: held)
            await channel.cancel(tag)
            await put(channel, queue, b"2")
            channel.ack(held[0].tag)
            assert [each.body for each in await drained(channel, queue)] == [b"2"]
            assert len(held) == 1

    within(story())


def test_calls_side_by_side_are_answered_in_whatever_order(dsn: str, within: Within) -> None:
    """The broker answers consume and cancel after what was asked later on the same channel."""

    async def story() -> None:
        async with linked(dsn) as link:
            channel = await link.channel()
            queue = await declare(channel, "q")
            passive = commands.Queue.Declare(queue=queue, passive=True)
            for _ in range(20):
                consumed = asyncio.create_task(channel.consume(queue, lambda _: None, prefetch=1))
                asked = asyncio.create_task(channel.call(passive))
                tag, told = await consumed, await asked
                assert told.message_count == 0
                await asyncio.gather(channel.cancel(tag), channel.call(passive))
            assert channel.lost is None

    within(story())


def test_a_lost_link_fails_everything_once(dsn: str, within: Within) -> None:
    async def story(proxy: Proxy) -> None:
        heard = Heard()
        link = await opened(proxy.dsn(), heard)
        channel = await link.channel(confirms=True)
        queue = await declare(channel, "q")
        proxy.hold()
        confirms = [channel.publish("", queue, b"x", b"\0\0") for _ in range(100)]
        asked = channel.ask(commands.Queue.Declare(queue=queue, passive=True))
        proxy.cut()
        for waiting in (*confirms, asked):
            assert waiting is not None
            with pytest.raises(BrokerLost):
                await waiting
        assert len(heard.lost) == 1
        channel.ack(1)
        with pytest.raises(BrokerLost):
            await link.channel()
        await link.close()
        assert len(heard.lost) == 1

    with Proxy(dsn) as proxy:
        within(story(proxy))


def test_an_operator_who_closes_connections_is_heard(
    broker: PrivateRabbit, dsn: str, within: Within
) -> None:
    async def story() -> None:
        heard = Heard()
        await opened(dsn, heard)
        await asyncio.to_thread(broker.close_connections, "maintenance")
        await until(lambda: heard.lost)
        assert "maintenance" in str(heard.lost[0])

    within(story())


def test_silence_of_the_broker_is_noticed_and_our_own_is_not(dsn: str, within: Within) -> None:
    async def story(proxy: Proxy) -> None:
        heard = Heard()
        link = await opened(proxy.dsn(), heard, heartbeat_s=1)
        await asyncio.sleep(3)  # longer than either side would bear with silence
        assert heard.lost == []
        await (await link.channel()).close()
        proxy.hold()
        await until(lambda: heard.lost)
        assert "is silent" in str(heard.lost[0])

    with Proxy(dsn) as proxy:
        within(story(proxy))


def test_a_blocked_broker_says_so_and_says_when_it_is_over(
    broker: PrivateRabbit, dsn: str, within: Within
) -> None:
    async def story() -> None:
        heard = Heard()
        async with linked(dsn, heard) as link:
            channel = await link.channel(confirms=True)
            queue = await declare(channel, "q")
            await asyncio.to_thread(broker.block)
            try:
                confirm = channel.publish("", queue, b"x", Properties(message_id="m"))
                assert confirm is not None
                await until(lambda: heard.blocked)
                assert link.blocked == heard.blocked[0] != ""
                assert not confirm.done()
            finally:
                await asyncio.to_thread(broker.unblock)
            await confirm
            await until(lambda: heard.blocked[1:])
            assert link.blocked == heard.blocked[1] == ""

    within(story())
