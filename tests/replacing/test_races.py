"""Replacing while messages become due and are delivered: what was replaced is not sent."""

import asyncio
from contextlib import closing
from pathlib import Path

import apsw
import asyncpg
import pytest

from postroad import Message, Postroad
from postroad.verbs import ending
from tests.jobs.stopping import until
from tests.replacing.racing import race_with_due
from tests.servers.postgres import PrivatePostgres

SLOW = """
create function postroad.slowly() returns trigger language plpgsql as
  $$ begin perform pg_sleep(1); return null; end $$;
create trigger slowly before insert on postroad.message
  for each statement execute function postroad.slowly()
"""
"""Storing a message takes a second."""


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


async def test_one_that_starts_while_the_file_is_written_to_is_not_replaced(tmp_path: Path) -> None:
    """A caller's own transaction kept the writer waiting, and the time was from before it."""
    path = tmp_path / "road.db"
    road = Postroad(f"sqlite:///{path}")
    warm, begun, go_on = list[str](), asyncio.Event(), asyncio.Event()

    @road.handler("slow")
    async def slow(message: Message) -> None:
        if message.body == 0:
            warm.append(message.id)
        else:
            begun.set()
        await go_on.wait()

    async with road, asyncio.timeout(120):
        running = asyncio.create_task(road.run())
        _ = await road.send_many([("slow", 0)] * 200)  # all lanes have an owner, and work
        await until(lambda: len(warm) == 200)
        _ = await road.send("slow", 1, replace="k", delay=2)
        with closing(apsw.Connection(str(path))) as connection:
            _ = connection.execute("begin immediate")
            sending = asyncio.ensure_future(road.send("slow", 2, replace="k", delay=2))
            await begun.wait()
            assert not sending.done()
            _ = connection.execute("commit")
        assert (await sending).earlier == "started"
        go_on.set()
        road.stop()
        await running


async def test_who_waits_for_what_is_replaced_is_rung_for_once_that_is_stored(
    server: PrivatePostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rung for before, they looked at a message that was still there, and not again for a minute."""
    for name in ("LOOK_S", "SOON_S", "LOOK_DEAF_S"):
        monkeypatch.setattr(ending, name, 3600.0)
    dsn = server.create_road()
    road, connection = Postroad(dsn), await asyncpg.connect(dsn)
    road.handler("note")(lambda _: None)
    async with road, asyncio.timeout(60):
        _ = await road.send("note", 0, replace="k", delay=3600)  # the next makes a day's table
        waited = await road.send("note", 1, replace="k", delay=3600)
        await connection.execute(SLOW)
        waiting = asyncio.create_task(road.jobs.wait(waited.id))
        while not road.store.bell.awaits:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
        assert (await road.send("note", 2, replace="k", delay=3600)).earlier == "replaced"
        assert (await waiting).state == "cancelled"
    await connection.close()
