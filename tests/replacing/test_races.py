"""Replacing while messages become due and are delivered: what was replaced is not sent."""

import asyncio

import asyncpg

from postroad import Message, Postroad
from tests.replacing.racing import race_with_due
from tests.servers.postgres import PrivatePostgres


async def test_what_was_replaced_is_not_sent_though_it_would_be_due_in_a_moment(dsn: str) -> None:
    roads = 1 if dsn.startswith("sqlite") else 4
    report = await race_with_due(dsn, 400, 20, roads)
    assert report.breaches == []
    assert (report.sent, report.replaced > 0) == (420, True), report


async def test_one_that_starts_while_another_with_its_key_is_stored_is_not_replaced(
    server: PrivatePostgres,
) -> None:
    dsn = server.create_road()
    road, connection = Postroad(dsn), await asyncpg.connect(dsn)
    owned, begun, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @road.handler("slow")
    async def slow(message: Message) -> None:
        if message.body == 0:
            owned.set()
        else:
            begun.set()
            await go_on.wait()

    async with road, asyncio.timeout(120):
        running = asyncio.create_task(road.run())
        _ = await road.send("slow", 0)  # the lane has an owner from now on
        await owned.wait()
        _ = await road.send("slow", 1, replace="k", delay=2)
        async with connection.transaction():
            _ = await connection.execute("select from postroad.idempotency for update")
            sending = asyncio.ensure_future(road.send("slow", 2, replace="k", delay=2))
            await begun.wait()
            assert not sending.done()
        assert (await sending).earlier == "started"
        go_on.set()
        road.stop()
        await running
    await connection.close()
