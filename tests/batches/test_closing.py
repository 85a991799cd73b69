"""How batches are ended: who asks, in which order they are locked, and what is left of them."""

import json
import sqlite3
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from postroad import Batch, Message, Postroad, Send
from postroad.errors import BatchGivenUp, UnknownBatch
from postroad.model.batch import BatchPlan
from postroad.stores.postgres.store import PostgresStore
from tests.postgres.stepping import stand
from tests.servers.postgres import PrivatePostgres

ROWS = """
insert into postroad.batch (id, tenant, parent, after, role, state, total, then_id, failure_id, stops, made_at)
select id, 'default', parent, 0, '', 'open', total, 0, 0, false, 1
  from (values (1, 0, 9), (2, 0, 9), (11, 1, 0), (12, 2, 0), (13, 1, 0), (14, 2, 0)) x(id, parent, total);
insert into postroad.batch_member (message_id, batch_id) values (11, 1), (12, 2), (13, 1), (14, 2);
"""
CLOSE = "select postroad.close_batches($1, 0)"
COUNTS = "select count(*) from postroad.batch_count"


def with_handler(dsn: str) -> Postroad:
    """A road that is not open yet."""
    made = Postroad(dsn)

    @made.handler("work")
    async def work(_message: Message) -> None:
        pass

    return made


@pytest.fixture
def road(dsn: str) -> Postroad:
    """On either database."""
    return with_handler(dsn)


async def test_a_cancel_asks_only_for_the_batches_of_what_it_cancels(
    server: PrivatePostgres,
) -> None:
    async with with_handler(server.create_road()) as road:
        store = road.store
        assert isinstance(store, PostgresStore)
        receipt = await road.batch([Send("work", n, delay=3600) for n in range(2)])
        alone = await road.send("work", 1, delay=3600)
        await store.batches_asked()
        before = store.queries["batches"]
        assert (await road.cancel(alone.id)).state == "cancelled"
        await store.batches_asked()
        assert store.queries["batches"] == before
        for message in receipt.messages:
            assert (await road.cancel(message.id)).state == "cancelled"
        await store.batches_asked()
        assert (await road.batches.get(receipt.id)).state == "ended"


async def test_two_that_end_batches_do_not_wait_for_each_other(server: PrivatePostgres) -> None:
    async with stand(server.create_road()) as on:
        await on.one.execute(ROWS)
        pid = on.two.get_server_pid()
        async with on.one.transaction():
            await on.one.execute(CLOSE, [11])
            other = await on.waits_for_a_lock(pid, on.two.execute(CLOSE, [12, 13]))
            await on.one.execute(CLOSE, [14])
        await other
        ended = "select count(*) from postroad.batch where state = 'ended'"
        assert await on.one.fetchval(ended) == 4


async def counts_left(dsn: str) -> int:
    """How many rows count the members of batches."""
    if dsn.startswith("sqlite:///"):
        with sqlite3.connect(dsn.removeprefix("sqlite:///")) as db:
            (found,) = db.execute(COUNTS.replace("postroad.", "")).fetchone()
            return int(found)
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval(COUNTS))
    finally:
        await connection.close()


async def test_of_a_batch_that_was_given_up_nothing_is_kept(
    road: Postroad, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Any = road.store
    put = store.batch_put

    async def long_ago(plan: BatchPlan) -> None:
        await put(replace(plan, rows=[replace(row, made_at_ms=1) for row in plan.rows]))

    async def dies(_batches: object) -> None:
        raise ConnectionError("the sender has ended half-way")

    monkeypatch.setattr("postroad.verbs.batch_planning.SLICE", 1)
    monkeypatch.setattr(store, "batch_put", long_ago)
    monkeypatch.setattr(store, "batch_seal", dies)
    with pytest.raises(ConnectionError):
        await road.batch([("work", 1), ("work", 2)])
    (batch,) = (await road.batches.list()).batches
    await road.run(until_idle=True)
    assert (await road.batches.get(batch.id)).delivered == 2
    assert await counts_left(dsn) > 0
    await store.retain(3_600_000, 3_600_000)
    assert (await road.batches.get(batch.id)).state == "skipped"
    await store.retain(-60_000, 3_600_000)
    with pytest.raises(UnknownBatch):
        await road.batches.get(batch.id)
    assert await counts_left(dsn) == 0


async def test_who_stores_a_batch_for_more_than_an_hour_is_told_that_it_was_given_up(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receipt promised what never came."""
    store: Any = road.store
    put = store.batch_put

    async def slow(plan: BatchPlan) -> None:
        await put(replace(plan, rows=[replace(row, made_at_ms=1) for row in plan.rows]))
        await store.retain(3_600_000, 3_600_000)  # as another process does

    monkeypatch.setattr("postroad.verbs.batch_planning.SLICE", 1)
    monkeypatch.setattr(store, "batch_put", slow)
    nested = Batch([("work", 3)], then=("work", 4))
    with pytest.raises(BatchGivenUp, match="given up while it was stored"):
        await road.batch([("work", 1), ("work", 2), nested], then=("work", 5))
    newest, *_ = (await road.batches.list()).batches
    assert newest.state == "skipped"


OPEN = """
insert into postroad.batch (id, tenant, parent, after, role, state, total, then_id, failure_id, stops, made_at)
select n, 'default', 0, 0, '', 'open', 1, 0, 0, false, 1 from generate_series($1::int, $2) n;
"""
COUNTED = "insert into postroad.batch_count values ($1, 7, 1, 0, 0)"
SWEEP = "explain (analyze, buffers, format json) select postroad.sweep(500)"


async def test_a_sweep_reads_no_more_however_many_batches_are_open(
    server: PrivatePostgres,
) -> None:
    async with stand(server.create_road()) as on:

        async def blocks() -> int:
            _ = await on.one.fetchval(SWEEP)  # makes the plans
            plan = json.loads(await on.one.fetchval(SWEEP))[0]["Plan"]
            return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])

        await on.one.execute(OPEN, 1, 10)
        few = await blocks()
        await on.one.execute(OPEN, 11, 2_500)
        assert await blocks() < few + 50
        # What a process has left, that owned nothing, is found a thousand at a time.
        await on.one.execute(COUNTED, 2_499)
        before = on.store.queries.get("batches", 0)
        for _ in range(3):
            _ = await on.store.sweep(500)
            await on.store.batches_asked()
        ended = "select array_agg(id) from postroad.batch where state = 'ended'"
        assert await on.one.fetchval(ended) == [2_499]
        assert on.store.queries["batches"] - before <= 4  # once for all sweeps


MEMBERS = """
insert into postroad.batch (id, tenant, parent, after, role, state, total, then_id, failure_id, stops, made_at)
values ($1, 'default', 0, 0, '', 'open', $2, 0, 0, false, 1);
"""
MEMBER_ROWS = """
insert into postroad.batch_member (message_id, batch_id)
select $1::bigint * 1000000 + n, $1 from generate_series(1, $2::int) n
"""
ENDED = "select postroad.end_members(1, array(select message_id from postroad.batch_member where batch_id = $1), '{}', '{}')"
END = "explain (analyze, buffers, format json) select postroad.close_batches(array[$1::bigint], 0)"


async def test_the_end_of_a_batch_reads_no_more_however_many_its_members_were(
    server: PrivatePostgres,
) -> None:
    async with stand(server.create_road()) as on:

        async def blocks(batch: int, members: int) -> int:
            await on.one.execute(MEMBERS, batch, members)
            await on.one.execute(MEMBER_ROWS, batch, members)
            await on.one.execute("analyze postroad.batch_member")
            await on.one.execute(ENDED, batch)
            plan = json.loads(await on.one.fetchval(END, batch))[0]["Plan"]
            state = "select state from postroad.batch where id = $1"
            assert await on.one.fetchval(state, batch) == "ended"
            return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])

        _ = await blocks(1, 10)  # makes the plans
        few = await blocks(2, 10)
        await on.one.execute(MEMBER_ROWS, 3, 50_000)  # of another, whose members have not ended
        assert await blocks(4, 50_000) < few + 50
