"""Sending inside the caller's own transaction, on SQLite."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from postroad import Message, Postroad
from postroad.model.errors import (
    BadInput,
    Conflict,
    NotOpen,
    StoreUnavailable,
    UnknownQueue,
)
from postroad.stores.sqlite import database, writer
from tests.rig.receivers import Receivers

Within = Callable[..., Any]


@pytest.fixture
def seen(road: Postroad) -> list[object]:
    """What the handler of the queue `work` got."""
    got: list[object] = []

    @road.handler("work", concurrency=1)
    async def work(message: Message[object]) -> None:
        got.append(message.body)
        road.stop()

    return got


def with_orders(road: Postroad) -> apsw.Connection:
    connection = road.connection()
    connection.execute("create table if not exists orders (id integer primary key, item text)")
    return connection


async def test_the_message_and_the_callers_rows_are_stored_together(
    road: Postroad, seen: list[object]
) -> None:
    """After the commit the engine is woken at once, not by its safety poll."""
    async with road, asyncio.timeout(40):
        connection = with_orders(road)
        running = asyncio.create_task(road.run())
        await road.store.counts()
        connection.execute("begin immediate")
        connection.execute("insert into orders (item) values ('cup')")
        receipt = await road.send_in(connection, "work", {"item": "cup"})
        assert receipt.id.startswith("msg_")
        assert (await road.store.counts())["waiting"] == 0
        connection.execute("commit")
        await running
        assert seen == [{"item": "cup"}]
        assert connection.execute("select item from orders").fetchall() == [("cup",)]


async def test_a_rollback_sends_nothing(road: Postroad, seen: list[object]) -> None:
    """Nor does a savepoint that is taken back, while what was sent around it goes."""
    async with road:
        connection = with_orders(road)
        connection.execute("begin immediate")
        await road.send_in(connection, "work", "never")
        connection.execute("rollback")
        await road.run(until_idle=True)
        assert seen == []
        connection.execute("begin immediate")
        await road.send_in(connection, "work", "kept")
        connection.execute("savepoint inner_one")
        await road.send_in(connection, "work", "taken back")
        connection.execute("rollback to inner_one")
        connection.execute("commit")
        await road.run(until_idle=True)
        assert seen == ["kept"]


async def test_a_thread_can_commit(road: Postroad, seen: list[object]) -> None:
    """The engine is told through its loop."""
    async with road, asyncio.timeout(40):
        connection = with_orders(road)
        running = asyncio.create_task(road.run())
        while not road.store.queries.get("safety poll"):
            await road.store.counts()
        await asyncio.to_thread(connection.execute, "begin immediate")
        await road.send_in(connection, "work", 1)
        await asyncio.to_thread(connection.execute, "commit")
        await running
        assert seen == [1]
        connection = await asyncio.to_thread(road.connection)
        connection.execute("begin")
    with pytest.raises(NotOpen):
        await road.send_in(connection, "work", 2)


async def test_a_road_that_closes_does_not_wait_for_a_transaction_that_is_left_open(
    road: Postroad, seen: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an error between begin and commit: it waited as long as a write does."""
    monkeypatch.setattr(database, "PATIENCE_MS", 200_000)
    async with asyncio.timeout(60):
        async with road:
            await road.send("work", 1)
            await road.run(until_idle=True)
            connection = with_orders(road)
            connection.execute("begin immediate")
            await road.send_in(connection, "work", 2)
        connection.execute("commit")
        async with road:
            await road.run(until_idle=True)
    assert seen == [1, 2]


async def test_all_options_of_send_work(road: Postroad, seen: list[object]) -> None:
    """Keys, order, delays, deadlines, priorities."""
    async with road:
        connection = with_orders(road)
        expires = datetime.now(UTC) + timedelta(hours=1)
        with connection:
            connection.execute("insert into orders (item) values ('cup')")
            first = await road.send_in(connection, "work", 1, key="k", order_key="o", priority=3)
            again = await road.send_in(connection, "work", 1, key="k", order_key="o", priority=3)
            await road.send_in(connection, "work", 2, delay=3600, expires_at=None)
            await road.send_in(connection, "work", 3, expires_at=expires, headers={"a": "b"})
            with pytest.raises(Conflict, match="another body"):
                await road.send_in(connection, "work", "other", key="k")
        assert (again.id, again.duplicate) == (first.id, True)
        await road.run(until_idle=True)
        assert sorted(map(str, seen)) == ["1", "3"]
        assert (await road.send("work", 1, key="k")).duplicate


async def test_a_queue_that_is_new_is_made_in_the_same_transaction(tmp_path: Path) -> None:
    """The road's own writer is never waited for: it waits for this transaction."""
    road = Postroad(f"sqlite:///{tmp_path}/road.db", transports=[Receivers(lambda: 0, lambda: 0.5)])
    async with road, asyncio.timeout(60):
        connection = road.connection()
        for end in ("rollback", "commit"):
            connection.execute("begin immediate")
            await road.send_in(connection, "sim://ash/new", 1)
            await road.send_in(connection, "sim://ash/new", 2)
            connection.execute(end)
        await road.run(until_idle=True)
        assert (await road.store.counts())["delivered"] == 2
        connection.execute("begin immediate")
        with pytest.raises(UnknownQueue):
            await road.send_in(connection, "nobody", 1)
        connection.execute("rollback")


async def test_outside_a_transaction_it_is_refused(road: Postroad, seen: list[object]) -> None:
    async with road:
        with pytest.raises(BadInput, match=r"begin one with connection\.execute"):
            await road.send_in(road.connection(), "work", 1)
        assert seen == []


async def test_a_transaction_that_began_by_reading_and_is_too_late_is_told_what_to_do(
    road: Postroad, seen: list[object]
) -> None:
    """SQLite would let it read an old state and write over the new one."""
    async with road:
        connection = with_orders(road)
        connection.execute("begin")
        connection.execute("select * from orders").fetchall()
        await road.send("work", 1)
        with pytest.raises(StoreUnavailable, match="start it with 'begin immediate'"):
            await road.send_in(connection, "work", 2)
        connection.execute("rollback")
        await road.run(until_idle=True)
        assert seen == [1]


async def test_connections_of_others_are_refused(
    road: Postroad, seen: list[object], tmp_path: Path
) -> None:
    """One to another file, one that the road did not give, and what is no connection."""
    async with road:
        for connection in (
            apsw.Connection(f"{tmp_path}/x.db"),
            apsw.Connection(f"{tmp_path}/road.db"),
        ):
            connection.execute("begin")
            with pytest.raises(BadInput, match=r"take one from road\.connection\(\)"):
                await road.send_in(connection, "work", 1)
            connection.close()
        with pytest.raises(BadInput, match=r"builtins\.str is not a connection"):
            await road.send_in("road.db", "work", 1)
        assert seen == []
    with pytest.raises(NotOpen):
        road.connection()


async def test_a_long_log_is_brought_home_although_only_the_caller_writes(
    road: Postroad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer is the only checkpointer, and hears of the caller's commits."""
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 20)
    async with road, asyncio.timeout(60):
        connection = with_orders(road)
        for _ in range(200):
            with connection:
                connection.execute("insert into orders (item) values (?)", ("x" * 4000,))
            await asyncio.sleep(0)
        while (tmp_path / "road.db").stat().st_size < 200 * 4000:
            await road.store.counts()


# Why not sqlite3


async def test_a_stdlib_connection_is_refused_with_the_reason(
    road: Postroad, seen: list[object]
) -> None:
    async with road:
        connection = sqlite3.connect(":memory:")
        with pytest.raises(BadInput, match="do not see each other's locks") as refused:
            await road.send_in(connection, "work", 1)
        assert "road.connection()" in str(refused.value)
        assert seen == []
        connection.close()


VANISH = """
import asyncio, os, sqlite3, sys
from pathlib import Path
from postroad import Postroad

async def live(path, with_stdlib):
    road = Postroad(f"sqlite:///{path}")

    @road.handler("work")
    async def work(message): ...

    async with road:
        await road.send("work", 1)
        if with_stdlib:
            reader = sqlite3.connect(path)
            assert reader.execute("select count(*) from message").fetchone() == (1,)
            reader.close()
        log_is_there = Path(path + "-wal").exists()
        await road.send("work", 2)
        counted = (await road.store.counts())["waiting"]
        sys.stdout.write(f"{log_is_there} {counted}")
        sys.stdout.flush()
        os._exit(0)  # as a crash would

asyncio.run(live(sys.argv[1], sys.argv[2] == "stdlib"))
"""


@pytest.mark.parametrize(
    ("how", "said", "left"), [("apsw alone", "True 2", 2), ("stdlib", "False 2", 1)]
)
def test_why_a_stdlib_connection_is_refused(
    tmp_path: Path, within: Within, how: str, said: str, left: int
) -> None:
    """It only read, and was closed. That deleted the log under the road, whose next message was
    accepted, counted, and gone after a crash."""
    path = tmp_path / "road.db"
    done = subprocess.run(
        (sys.executable, "-c", VANISH, str(path), how),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == said

    async def after() -> None:
        async with Postroad(f"sqlite:///{path}") as road:
            assert (await road.store.counts())["waiting"] == left

    within(after())
