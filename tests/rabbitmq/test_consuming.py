"""Subscriptions over links that come and go."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pamqp import commands

from postroad.model.errors import AccessRefused
from postroad.ports.clock import SystemClock, system_chance
from postroad.stores.rabbitmq import consuming as consuming_module
from postroad.stores.rabbitmq.consuming import Consumers, Source, Subscription
from postroad.stores.rabbitmq.supervisor import State
from postroad.stores.rabbitmq.wire.address import read_address
from postroad.stores.rabbitmq.wire.link import Link
from postroad.stores.rabbitmq.wire.properties import Delivery
from tests.rabbitmq.wires import declare, drained, linked, put, until
from tests.servers.proxy import Proxy
from tests.servers.rabbitmq import PrivateRabbit

Within = Callable[[Coroutine[Any, Any, Any]], Any]


class Reader:
    """Takes what comes, and acks it unless told to hold."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.held: list[tuple[Source, Delivery]] = []
        self.hold = False

    def take(self, source: Source, message: Delivery) -> None:
        self.bodies.append(message.body)
        if self.hold:
            self.held.append((source, message))
        else:
            source.ack(message.tag)


async def declared(link: Link) -> None:
    """What these tests consume."""
    channel = await link.channel()
    await declare(channel, "q")
    await declare(channel, "single", x_single_active_consumer=True)
    await channel.close()


@asynccontextmanager
async def consuming(dsn: str) -> AsyncIterator[Consumers]:
    """Consumers, closed at the end."""
    consumers = Consumers(read_address(dsn), "test", declared, SystemClock(), system_chance())
    await consumers.open()
    try:
        yield consumers
    finally:
        await consumers.close()
        assert consumers.supervisor.state is State.CLOSED


async def feed(dsn: str, queue: str, *bodies: bytes) -> None:
    """Publish over a link of its own."""
    async with linked(dsn) as link:
        await put(await link.channel(confirms=True), queue, *bodies)


async def rebuilt(consumers: Consumers, after: int) -> None:
    """Until a newer link is ready."""
    supervisor = consumers.supervisor
    await until(lambda: supervisor.generation > after and supervisor.state is State.READY)


def fault_cut(proxy: Proxy, _broker: PrivateRabbit) -> None:
    """The network goes."""
    proxy.cut()


def fault_operator(_proxy: Proxy, broker: PrivateRabbit) -> None:
    """An operator closes connections."""
    broker.close_connections()


def fault_restart(_proxy: Proxy, broker: PrivateRabbit) -> None:
    """The broker is killed, and started again."""
    broker.kill()
    broker.start()


@pytest.mark.parametrize("fault", [fault_cut, fault_operator, fault_restart])
def test_resubscribes_after(
    broker: PrivateRabbit, dsn: str, within: Within, fault: Callable[[Proxy, PrivateRabbit], None]
) -> None:
    async def story(proxy: Proxy) -> None:
        reader = Reader()
        async with consuming(proxy.dsn()) as consumers:
            await consumers.add(Subscription("q", reader.take, 10))
            reader.hold = True
            await feed(dsn, "q", b"held")
            await until(lambda: reader.held)
            generation = consumers.supervisor.generation
            await asyncio.to_thread(fault, proxy, broker)
            await rebuilt(consumers, generation)
            old, message = reader.held[0]
            assert not old.alive
            old.ack(message.tag)  # of a link that is gone: dropped in silence
            reader.hold = False
            await feed(dsn, "q", b"new")
            await until(lambda: reader.bodies.count(b"held") == 2 and b"new" in reader.bodies)
            assert reader.held[0][1].redelivered is False

    with Proxy(dsn) as proxy:
        within(story(proxy))


def test_resubscribes_after_a_channel_is_closed(dsn: str, within: Within) -> None:
    async def story() -> None:
        reader = Reader()
        async with consuming(dsn) as consumers:
            wanted = Subscription("q", reader.take, 10)
            await consumers.add(wanted)
            for turn in range(5):
                generation = consumers.supervisor.generation
                assert wanted.source is not None
                wanted.source.ack(999)  # a tag that the broker never gave: it closes the channel
                await rebuilt(consumers, generation)
                await feed(dsn, "q", str(turn).encode())
                await until(lambda: len(reader.bodies) == turn + 1)  # noqa: B023

    within(story())


def test_a_deleted_queue_is_declared_and_consumed_again(dsn: str, within: Within) -> None:
    async def story() -> None:
        reader = Reader()
        async with consuming(dsn) as consumers:
            await consumers.add(Subscription("q", reader.take, 10))
            generation = consumers.supervisor.generation
            async with linked(dsn) as link:
                await (await link.channel()).call(commands.Queue.Delete(queue="q"))
            await rebuilt(consumers, generation)
            await feed(dsn, "q", b"again")
            await until(lambda: reader.bodies == [b"again"])

    within(story())


def test_one_that_looks_alive_and_gets_nothing_is_replaced(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming_module, "WATCH_S", 0.1)

    async def story() -> None:
        reader = Reader()
        async with consuming(dsn) as consumers:
            wanted = Subscription("q", reader.take, 1)
            await consumers.add(wanted)
            reader.hold = True
            await feed(dsn, "q", b"first", b"second")
            await until(lambda: reader.held)
            assert wanted.source is not None
            generation = consumers.supervisor.generation
            reader.hold = False
            wanted.source.held = (
                0  # as if its ack had been lost on the way: the broker waits for it
            )
            await rebuilt(consumers, generation)
            await until(lambda: sorted(reader.bodies) == [b"first", b"first", b"second"])
            assert "gets none" in str(consumers.supervisor.why)

    within(story())


def test_a_single_consumer_that_was_served_and_gets_nothing_is_replaced(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        reader = Reader()
        async with consuming(dsn) as consumers:
            wanted = Subscription("single", reader.take, 1, single=True)
            await consumers.add(wanted)
            reader.hold = True
            await feed(dsn, "single", b"first", b"second")
            await until(lambda: reader.held)
            assert [await consumers.look() for _ in range(2)] == ["", ""]  # it holds one: busy
            assert wanted.source is not None
            wanted.source.held = 0
            assert await consumers.look() == "single"

    within(story())


def test_a_consumer_that_the_broker_does_not_know_is_replaced(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming_module, "WATCH_S", 0.1)

    async def story() -> None:
        reader = Reader()
        async with consuming(dsn) as consumers:
            wanted = Subscription("q", reader.take, 1)
            await consumers.add(wanted)
            generation = consumers.supervisor.generation
            assert wanted.source is not None
            await wanted.source.pause()
            await rebuilt(consumers, generation)
            await feed(dsn, "q", b"x")
            await until(lambda: reader.bodies)

    within(story())


def test_watching_leaves_those_alone_that_have_no_fault(dsn: str, within: Within) -> None:
    async def story() -> None:
        active, passive, busy, idle = Reader(), Reader(), Reader(), Reader()
        async with consuming(dsn) as first, consuming(dsn) as second:
            active.hold = busy.hold = True
            await first.add(Subscription("single", active.take, 2, single=True))
            await second.add(Subscription("single", passive.take, 2, single=True))
            await feed(dsn, "single", *[b"x"] * 5)
            await until(lambda: len(active.held) == 2)
            await first.add(Subscription("q", busy.take, 2))
            await feed(dsn, "q", *[b"y"] * 5)
            await until(lambda: len(busy.held) == 2)
            for consumers in (first, second, first, second):
                assert await consumers.look() == ""
            await second.add(Subscription("q", idle.take, 2))
            await until(lambda: len(idle.bodies) == 3)
            assert passive.bodies == []

    within(story())


def test_what_is_removed_gives_its_messages_back(dsn: str, within: Within) -> None:
    async def story() -> None:
        reader = Reader()
        async with consuming(dsn) as consumers:
            wanted = Subscription("q", reader.take, 10)
            await consumers.add(wanted)
            reader.hold = True
            await feed(dsn, "q", b"1", b"2")
            await until(lambda: len(reader.held) == 2)
            await consumers.remove(wanted)
            async with linked(dsn) as link:
                channel = await link.channel()
                back: list[Delivery] = []
                while len(back) < 2:
                    back += await drained(channel, "q")
            assert {each.body for each in back} == {b"1", b"2"}
            consumers.supervisor.rebuild("test")
            await rebuilt(consumers, 1)
            await feed(dsn, "q", b"3")
            async with linked(dsn) as link:
                assert len(await drained(await link.channel(), "q")) == 1

    within(story())


def test_what_is_wrong_at_the_first_connection_is_raised(dsn: str, within: Within) -> None:
    async def story() -> None:
        with pytest.raises(AccessRefused):
            async with consuming(dsn.replace("road:", "road:x")):
                pass

    within(story())
