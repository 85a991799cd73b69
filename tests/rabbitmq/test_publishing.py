"""Publishing to a broker that is away, full, blocked, or killed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from postroad.model.errors import (
    BodyTooLarge,
    BrokerBlocked,
    BrokerLost,
    QueueFull,
    StoreError,
    Unroutable,
)
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock, system_chance
from postroad.stores.rabbitmq.envelope import BODY_BYTES_MAX
from postroad.stores.rabbitmq.publishing import publisher as publisher_module
from postroad.stores.rabbitmq.publishing.publisher import PackedMessage, Publisher
from postroad.stores.rabbitmq.wire.address import read_address
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Properties
from postroad.stores.rabbitmq.wire.supervisor import Prepare, Supervisor
from tests.rabbitmq.wires import declare, drained, linked, until
from tests.servers.proxy import Proxy
from tests.servers.rabbitmq import PrivateRabbit

Within = Callable[[Coroutine[Any, Any, Any]], Any]


async def declared(link: AmqpConnection) -> None:
    """What these tests publish to."""
    channel = await link.channel()
    await declare(channel, "q")
    await declare(channel, "small", x_max_length=5, x_overflow="reject-publish")
    await channel.close()


@asynccontextmanager
async def publishing_to(dsn: str, wait_s: float = 10.0) -> AsyncIterator[Publisher]:
    """A publisher, closed at the end."""
    clock, log = SystemClock(), make_log("critical")

    def supervise(prepare: Prepare) -> Supervisor:
        return Supervisor(read_address(dsn), "test", prepare, clock, system_chance(), log)

    publisher = Publisher(supervise, declared, clock, wait_s=wait_s)
    await publisher.open()
    try:
        yield publisher
    finally:
        await publisher.close()


def parcel(number: int, key: str = "q", body: bytes = b"") -> PackedMessage:
    """One that is told apart by its number."""
    name = str(number)
    return PackedMessage("", key, Properties(message_id=name).pack(), body or name.encode())


async def found(dsn: str, queue: str = "q") -> list[int]:
    """The numbers in the queue."""
    async with linked(dsn) as link:
        return [int(each.body) for each in await drained(await link.channel(), queue)]


def test_many_are_confirmed_at_once_and_all_are_there(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with publishing_to(dsn) as publisher:
            batches = [[parcel(at * 100 + each) for each in range(100)] for at in range(100)]
            results = await asyncio.gather(*[publisher.publish(batch) for batch in batches])
            assert all(each is None for result in results for each in result)
        assert sorted(await found(dsn)) == list(range(10_000))

    within(story())


def test_each_parcel_has_its_own_outcome(dsn: str, within: Within) -> None:
    async def story() -> None:
        huge = b"x" * (BODY_BYTES_MAX + 1)
        async with publishing_to(dsn) as publisher:
            given = [parcel(1), parcel(2, "nowhere"), parcel(3, body=huge), parcel(4)]
            results = await publisher.publish(given)
            kinds = [None, Unroutable, BodyTooLarge, None]
            assert [each if each is None else type(each) for each in results] == kinds
            with pytest.raises(BodyTooLarge, match="store it elsewhere"):
                publisher.hand_over(given[2])
        assert sorted(await found(dsn)) == [1, 4]

    within(story())


def test_a_body_at_the_limit_goes_through(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with publishing_to(dsn) as publisher:
            body = b"x" * BODY_BYTES_MAX
            assert await publisher.publish([parcel(1, body=body)]) == [None]

    within(story())


def test_a_full_queue_is_told_and_what_fits_is_kept(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with publishing_to(dsn) as publisher:
            results = [(await publisher.publish([parcel(at, "small")]))[0] for at in range(30)]
            refused = [each for each in results if each is not None]
            assert refused
            assert {type(each) for each in refused} == {QueueFull}
        assert len(await found(dsn, "small")) == 30 - len(refused)

    within(story())


def test_a_blocked_broker_is_a_named_error_in_bounded_time(
    broker: PrivateRabbit, dsn: str, within: Within
) -> None:
    async def story() -> None:
        async with publishing_to(dsn, wait_s=1.0) as publisher:
            await asyncio.to_thread(broker.block)
            try:
                results = await publisher.publish([parcel(1)])  # reaches the connection, no further
                assert isinstance(results[0], BrokerBlocked)
                assert "alarms" in str(results[0])
                # From now on at once, whoever asks.
                assert isinstance((await publisher.publish([parcel(2)]))[0], BrokerBlocked)
                with pytest.raises(BrokerBlocked):
                    publisher.hand_over(parcel(3))
                assert publisher.blocked
            finally:
                await asyncio.to_thread(broker.unblock)
            await until(lambda: not publisher.blocked)
            assert await publisher.publish([parcel(4)]) == [None]
        assert set(await found(dsn)) == {1, 4}  # what was on its way arrives: it "may be stored"

    within(story())


def test_a_short_block_is_waited_out(broker: PrivateRabbit, dsn: str, within: Within) -> None:
    async def story() -> None:
        async with publishing_to(dsn, wait_s=60.0) as publisher:
            await asyncio.to_thread(broker.block)
            try:
                first = asyncio.create_task(publisher.publish([parcel(1)]))
                await until(lambda: publisher.blocked)
                second = asyncio.create_task(publisher.publish([parcel(2)]))
                await asyncio.sleep(0.1)
                assert not first.done()
                assert not second.done()
            finally:
                await asyncio.to_thread(broker.unblock)
            assert [await first, await second] == [[None], [None]]

    within(story())


def test_a_broker_that_is_away_is_waited_for_and_then_named(dsn: str, within: Within) -> None:
    async def story(proxy: Proxy) -> None:
        async with publishing_to(proxy.dsn(), wait_s=1.0) as publisher:
            proxy.down()
            await until(lambda: publisher.supervisor.connection is None)
            assert [type(each) for each in await publisher.publish([parcel(1), parcel(2)])] == [
                BrokerLost,
                BrokerLost,
            ]
            with pytest.raises(BrokerLost):
                publisher.hand_over(parcel(3))
            proxy.up()
            results: list[Any] = [BrokerLost("")]
            while results != [None]:
                results = list(await publisher.publish([parcel(4)]))
        assert 4 in await found(dsn)

    with Proxy(dsn) as proxy:
        within(story(proxy))


def test_each_parcel_has_its_own_outcome_also_when_it_is_closed_meanwhile(
    dsn: str, within: Within
) -> None:
    async def story(proxy: Proxy) -> None:
        huge = b"x" * (BODY_BYTES_MAX + 1)
        async with publishing_to(proxy.dsn()) as publisher:
            proxy.down()
            await until(lambda: publisher.supervisor.connection is None)
            given = [parcel(1, body=huge), parcel(2), parcel(3)]
            sending = asyncio.create_task(publisher.publish(given))
            await asyncio.sleep(0)
            await publisher.close()
            kinds = [BodyTooLarge, BrokerLost, BrokerLost]
            assert [type(each) for each in await sending] == kinds

    with Proxy(dsn) as proxy:
        within(story(proxy))


def test_a_broker_that_confirms_nothing_is_given_up(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher_module, "CONFIRM_S", 0.3)

    async def story(proxy: Proxy) -> None:
        async with publishing_to(proxy.dsn()) as publisher:
            proxy.hold()
            results = await publisher.publish([parcel(1)])
            assert isinstance(results[0], BrokerLost)
            assert "no confirm came" in str(results[0])
            proxy.release()

    with Proxy(dsn) as proxy:
        within(story(proxy))


def test_what_waits_is_bounded(dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher_module, "WINDOW", 10)

    async def story(proxy: Proxy) -> None:
        async with publishing_to(proxy.dsn()) as publisher:
            proxy.hold()
            sending = asyncio.create_task(publisher.publish([parcel(at) for at in range(1_000)]))
            channels, most = publisher._channels, 10 * publisher_module.CHANNELS
            await until(lambda: sum(each.unconfirmed for each in channels) >= most)
            await asyncio.sleep(0.1)
            assert sum(each.unconfirmed for each in channels) == most
            proxy.release()
            assert await sending == [None] * 1_000

    with Proxy(dsn) as proxy:
        within(story(proxy))


def test_a_receipt_that_nobody_waits_for_any_more_holds_up_nobody(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher_module, "WINDOW", 1)

    async def story(proxy: Proxy) -> None:
        async with publishing_to(proxy.dsn()) as publisher:
            proxy.hold()
            receipts = [publisher.put(parcel(at)) for at in range(publisher_module.CHANNELS)]
            assert publisher.put(parcel(99)) is None  # no room, and nothing was written
            for receipt in receipts:
                assert receipt is not None
                receipt.cancel()
            looks = 0
            room = publisher._free_channel

            def counted() -> AmqpChannel | None:
                nonlocal looks
                looks += 1
                return room()

            monkeypatch.setattr(publisher, "_free_channel", counted)
            sending = asyncio.create_task(publisher.publish([parcel(at) for at in range(4, 8)]))
            await asyncio.sleep(0.1)
            assert looks < 10  # it waits, and does not ask in a circle
            proxy.release()
            assert await sending == [None] * 4
        assert sorted(await found(dsn)) == list(range(8))

    with Proxy(dsn) as proxy:
        within(story(proxy))


def test_handed_over_ones_arrive_and_unroutable_ones_are_told(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with publishing_to(dsn) as publisher:
            told: list[Unroutable] = []
            publisher.on_return = told.append
            for at in range(500):
                publisher.hand_over(parcel(at))
            publisher.hand_over(parcel(500, "nowhere"))
            await until(lambda: told)
        assert sorted(await found(dsn)) == list(range(500))

    within(story())


@pytest.mark.wide
def test_nothing_confirmed_is_lost_when_the_broker_is_killed(
    broker: PrivateRabbit, dsn: str, within: Within
) -> None:
    async def story() -> None:
        confirmed: set[int] = set()
        unsure: set[int] = set()
        over = asyncio.Event()

        async def send(publisher: Publisher, lane: int) -> None:
            number = lane * 1_000_000
            while not over.is_set():
                batch = [parcel(number + at) for at in range(20)]
                results = await publisher.publish(batch)
                for at, result in enumerate(results):
                    assert result is None or isinstance(result, StoreError)
                    (unsure if result else confirmed).add(number + at)
                number += 20

        async with publishing_to(dsn, wait_s=60.0) as publisher:
            senders = [asyncio.create_task(send(publisher, lane)) for lane in range(8)]
            await until(lambda: len(confirmed) > 500)
            await asyncio.to_thread(broker.write_out)
            await asyncio.to_thread(broker.kill)
            before = len(confirmed)
            await asyncio.to_thread(broker.start)
            await until(lambda: len(confirmed) > before + 500)
            over.set()
            await asyncio.gather(*senders)
        arrived = await found(dsn)
        assert confirmed <= set(arrived)
        assert set(arrived) <= confirmed | unsure
        assert len(arrived) == len(set(arrived))

    within(story())
