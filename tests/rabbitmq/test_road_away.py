"""A road whose broker takes nothing, or is away; and one whose state lies in PostgreSQL."""

import asyncio
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.errors import BrokerBlocked
from postroad.model.facts import MessageFacts
from postroad.stores.rabbitmq.publishing.recent import RecentMessages
from postroad.stores.rabbitmq.store import RabbitStore
from tests.rabbitmq.roads import LOCAL, Endpoint, a_road, running, until, until_state
from tests.rabbitmq.test_road import webhook
from tests.servers.postgres import PrivatePostgres
from tests.servers.proxy import Proxy
from tests.servers.rabbitmq import PrivateRabbit


async def test_a_blocked_broker_is_told_to_who_sends_to_a_new_handler_or_asks(
    broker: PrivateRabbit, dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    store = road.store
    assert isinstance(store, RabbitStore)

    for name in ("known", "new"):

        @road.handler(name)
        async def serve(_message: object) -> None: ...

    async def blocked() -> bool:
        return bool(store.broker.publisher.blocked)

    async with road:
        await road.send("known", {})
        await asyncio.to_thread(broker.block)
        try:
            stuck = asyncio.create_task(road.send("known", {}))
            await until(blocked)
            for asked in (road.send("new", {}), store.counts()):
                with pytest.raises(BrokerBlocked, match="alarms"):
                    await asked
        finally:
            await asyncio.to_thread(broker.unblock)
        await stuck
        await road.send("new", {})


async def test_a_road_stops_while_its_broker_is_away(dsn: str, tmp_path: Path) -> None:
    with Proxy(dsn) as proxy:
        road = a_road(proxy.dsn(), tmp_path)
        store = road.store
        assert isinstance(store, RabbitStore)
        got: list[object] = []

        @road.handler("resize")
        async def resize(message: object) -> None:
            got.append(message)

        async def lost() -> bool:
            return store.broker.publisher.supervisor.connection is None

        async def asks() -> bool:
            return store.broker._consumer is not None

        async with road:
            proxy.down()
            await until(lost)
            async with running(road):
                await until(asks)
            assert store.broker._consumer is None
            proxy.up()
            await road.send("resize", {})
            await road.run(until_idle=True)
        assert len(got) == 1


async def test_a_replayed_message_is_known_while_nobody_works(dsn: str, tmp_path: Path) -> None:
    first, second = a_road(dsn, tmp_path), a_road(dsn, tmp_path)
    async with Endpoint() as endpoint:
        async with first:
            await webhook(first, endpoint.url)
            endpoint.statuses = [410]
            async with running(first):
                receipt = await first.send(endpoint.url, {})
                await until_state(first, receipt.id, "dead")
        async with second:
            assert await second.dead.replay(ids=[receipt.id]) == 1
            assert (await second.explain(receipt.id)).state == "held"  # a 410 disables its queue
            await second.unblock(endpoint.url)
            assert (await second.explain(receipt.id)).state == "waiting"
            async with running(second):
                await until_state(second, receipt.id, "delivered")


async def test_the_state_may_lie_in_postgresql(dsn: str, server: PrivatePostgres) -> None:
    """Sent, retried, dead, paged, explained, replayed, delivered; and the same from another
    process' view."""
    state = server.create_database()
    road = Postroad(f"{dsn}?state={state}", settings=Settings(webhooks=LOCAL))
    other = Postroad(f"{dsn}?state={state}", settings=Settings(webhooks=LOCAL))
    async with Endpoint() as endpoint, road, other:
        await webhook(road, endpoint.url)
        endpoint.statuses = [500] * 3
        async with running(road):
            receipt = await other.send(endpoint.url, {"id": 7})
            await until_state(other, receipt.id, "dead")
            (dead,) = (await other.dead.list(queue=endpoint.url)).messages
            assert (dead.id, dead.reason) == (receipt.id, "exhausted")

            async def all_told() -> bool:  # a letter may be collected before its try is noted
                tries = (await other.explain(receipt.id)).tries
                return [attempt.outcome for attempt in tries] == ["failed"] * 3

            await until(all_told)
            assert await other.dead.replay(ids=[receipt.id], mode="reset") == 1
            await until_state(other, receipt.id, "delivered")
        assert endpoint.got == 4
        assert (await other.dead.list()).messages == ()


async def test_a_message_that_ends_while_it_is_asked_for_is_known(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)
    store = road.store
    assert isinstance(store, RabbitStore)
    started, go_on = asyncio.Event(), asyncio.Event()

    @road.handler("resize")
    async def resize(_message: object) -> None:
        started.set()
        await go_on.wait()

    async with road, running(road):
        receipt = await road.send("resize", {})
        await started.wait()
        store.recent = RecentMessages()  # as in a process that has not sent it
        ask = store.state.message_facts

        async def late(tenant: str | None, number: int) -> MessageFacts | None:
            """It ends between this answer and the next question."""
            nothing = await ask(tenant, number)
            store.state.message_facts = ask  # type: ignore[method-assign]
            go_on.set()
            while await ask(tenant, number) is None or store.delivered.messages:
                await asyncio.sleep(0.01)
            return nothing

        store.state.message_facts = late  # type: ignore[method-assign]
        assert (await road.explain(receipt.id)).state == "delivered"
