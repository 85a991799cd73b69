"""Publishing inside the caller's own transaction."""

import asyncio
import json
from base64 import b64decode
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from postroad import Postroad
from postroad.model.endpoint import OPERATOR
from postroad.model.errors import BadInput, Conflict, UnknownEventType
from tests.postgres.drivers import DRIVERS, on_asyncpg
from tests.webhook.conftest import Receiver


class Undo(Exception):
    """Rolls the caller's transaction back."""


@asynccontextmanager
async def transaction(road: Postroad) -> Any:
    """A transaction of the caller on the road's database."""
    if road.dsn.startswith("sqlite"):
        connection = road.connection()
        connection.execute("begin immediate")
        try:
            yield connection
        except BaseException:
            connection.execute("rollback")
            raise
        connection.execute("commit")
        return
    async with on_asyncpg(road.dsn) as raw:
        yield raw


def got(receiver: Receiver, mark: str) -> list[Any]:
    entries = [each for each in receiver.got("/status/200") if each["query"] == mark]
    return [json.loads(b64decode(each["body"])) for each in entries]


async def test_an_event_is_published_if_the_transaction_commits_and_in_order(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    await road.endpoints.create(f"{receiver.url('/status/200')}?{mark}", ordered=True)
    running = asyncio.create_task(road.run())
    with pytest.raises(Undo):
        async with transaction(road) as connection:
            await road.publish_in(connection, "order.paid", "never")
            raise Undo
    async with transaction(road) as connection:
        receipts = [await road.publish_in(connection, "order.paid", n) for n in range(5)]
        assert got(receiver, mark) == []
    while len(got(receiver, mark)) < 5:
        await asyncio.sleep(0.05)
    assert got(receiver, mark) == [0, 1, 2, 3, 4]
    assert len((await road.events.get(receipts[0].id)).messages) == 1
    assert len((await road.events.list()).events) == 5
    road.stop()
    await running


async def test_a_key_publishes_once_and_another_body_reaches_nobody(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    await road.endpoints.create(f"{receiver.url('/status/200')}?{mark}")
    await road.publish("order.paid", 1, key="k")
    running = asyncio.create_task(road.run())
    async with transaction(road) as connection:
        again = await road.publish_in(connection, "order.paid", 1, key="k")
    other = None
    try:
        async with transaction(road) as connection:
            other = await road.publish_in(connection, "order.paid", 2, key="k")
    except Conflict:
        assert road.dsn.startswith("sqlite")  # which tells at once
    async with transaction(road) as connection:
        last = await road.publish_in(connection, "order.paid", 3, key="new")
    while not {1, 3} <= set(got(receiver, mark)):  # in whatever order
        await asyncio.sleep(0.05)
    assert sorted(got(receiver, mark)) == [1, 3]
    assert len((await road.events.get(last.id)).messages) == 1
    if other is None:
        assert again.duplicate
    else:  # told nobody, kept for who looks
        assert (await road.events.get(other.id)).messages == ()
    road.stop()
    await running


async def test_it_is_matched_against_the_endpoints_of_its_time(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    """On PostgreSQL of the move, which comes after the commit; on SQLite of the commit."""
    async with transaction(road) as connection:
        receipt = await road.publish_in(connection, "order.paid", 1)
    late = await road.endpoints.create(f"{receiver.url('/status/200')}?{mark}")
    running = asyncio.create_task(road.run())
    while not (events := (await road.events.list()).events):
        await asyncio.sleep(0.05)
    assert [each.id for each in events] == [receipt.id]
    assert len(events[0].messages) == (0 if road.dsn.startswith("sqlite") else 1)
    assert late.state == "enabled"
    road.stop()
    await running


async def test_what_is_wrong_is_told_before_the_commit(road: Postroad) -> None:
    await road.event_types.set("order.paid")
    async with transaction(road) as connection:
        with pytest.raises(UnknownEventType):
            await road.publish_in(connection, "order.late", 1)
    with pytest.raises(BadInput):
        await road.publish_in(object(), "order.paid", 1)


@pytest.mark.parametrize("within", DRIVERS)
async def test_every_driver_publishes(
    within: Callable[[str], AbstractAsyncContextManager[Any]], server: Any
) -> None:
    dsn = server.create_road()
    async with Postroad(dsn) as road:
        async with within(dsn) as connection:
            receipt = await road.publish_in(connection, "order.paid", {"n": 1})
        running = asyncio.create_task(road.run())
        while not (events := (await road.events.list()).events):
            await asyncio.sleep(0.05)
        assert events[0].id == receipt.id
        road.stop()
        await running


async def test_nobody_publishes_to_the_operator(road: Postroad) -> None:
    with pytest.raises(BadInput, match="operational"):
        async with transaction(road) as connection:
            await road.publish_in(connection, "endpoint.failing", {}, tenant=OPERATOR)
    assert not (await road.events.list(tenant=OPERATOR)).events
