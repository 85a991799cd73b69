"""The index of finished messages on SQLite: built from the first list on, and caught up."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from postroad.model.decide import Move
from postroad.model.entities import DAY_MS
from postroad.model.ids import to_number
from postroad.model.listing import LAST_ID, ListRequest, Shelf
from postroad.stores.sqlite import listing
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from tests.contract.bench import Bench
from tests.contract.blocked import counted
from tests.contract.rigs import SqliteRig
from tests.contract.test_lists import ids, lists


async def deliver(bench: Bench, count: int, name: str = "shop") -> list[int]:
    queue = await bench.queue(name)
    sent = [await bench.send(queue) for _ in range(count)]
    lane = await bench.take()
    due = [message for message in await bench.due(lane.id) if message.id in sent]
    await bench.record([bench.result(message, Move.deliver) for message in due])
    await bench.release(lane)
    return sent


def run(folder: Path, work: Callable[[Bench], Awaitable[None]]) -> None:
    async def within() -> None:
        async with Bench(SqliteRig(folder, InlineDrive)) as bench:
            await work(bench)

    asyncio.run(within())


def test_nothing_is_indexed_before_the_first_list(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        sent = await deliver(bench, 5)
        await bench.advance(10)
        assert await bench.store.list_index(start=False) is None
        assert await bench.rows("select count(*) from listed") == [(0,)]
        assert await ids(bench, queue="shop") == sent[::-1]
        assert await bench.rows("select count(*) from listed") == [(5,)]
        more = await deliver(bench, 2)
        await bench.advance(10)
        assert await bench.store.list_index(start=False) is None
        assert await bench.rows("select count(*) from listed") == [(7,)]
        assert await ids(bench, queue="shop") == [*more[::-1], *sent[::-1]]

    run(tmp_path, work)


def test_a_message_that_finishes_long_after_it_was_indexed_is_listed(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        queue = await bench.queue()
        number = await bench.send(queue)
        await bench.advance(10)
        assert await ids(bench, queue="shop", state="delivered") == []
        lane = await bench.take()
        await bench.became(await bench.only(lane.id), Move.deliver)
        assert await ids(bench, queue="shop", state="delivered") == [number]

    run(tmp_path, work)


def test_a_clock_that_was_set_back_hides_nothing(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        queue = await bench.queue()
        early = bench.draft(queue)
        await bench.advance(100)
        await deliver(bench, 1)
        await bench.advance(10)
        await ids(bench, queue="shop")  # the index has passed the early id
        await bench.store.accept([early])
        lane = await bench.take()
        await bench.became(await bench.only(lane.id), Move.deliver)
        assert early.id in await ids(bench, queue="shop", state="delivered")

    run(tmp_path, work)


def test_what_is_forgotten_leaves_the_index(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        await deliver(bench, 3)
        await bench.advance(10)
        assert len(await ids(bench, queue="shop")) == 3
        await bench.advance(8 * DAY_MS / 1000)
        while await bench.store.retain(7 * DAY_MS, 7 * DAY_MS):
            pass
        assert await bench.rows("select count(*) from listed") == [(0,)]
        assert await ids(bench, queue="shop") == []

    run(tmp_path, work)


def test_an_index_that_is_far_behind_says_so_and_is_caught_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "INDEX_SLICE", 2)
    monkeypatch.setattr(listing, "WALKED_MAX", 4)

    async def work(bench: Bench) -> None:
        sent = []
        for _ in range(30):
            sent += await deliver(bench, 1)
            await bench.advance(1)
        await bench.advance(10)
        first = await lists(bench).list(queue="shop", limit=2)
        assert first.indexed_until_ms < bench.now_ms - 5_000
        assert [to_number(one.id) for one in first.messages] == sent[:-3:-1]
        assert await ids(bench, 2, queue="shop") == sent[::-1]
        assert (await lists(bench).list(queue="shop")).indexed_until_ms > bench.now_ms - 5_000

    run(tmp_path, work)


def test_a_page_reads_its_rows_and_not_the_table(tmp_path: Path) -> None:
    """Steps of SQLite's machine for one page, with ten times as many messages beside it."""

    async def steps(bench: Bench) -> int:
        scope = await bench.store.list_scope("default", "shop", "", 5)
        assert scope is not None
        queues, rungs = tuple(scope.queues), tuple(scope.rungs)
        every = (Shelf.message, Shelf.broker, Shelf.dead, Shelf.history)
        request = ListRequest(every, queues, rungs, 0, LAST_ID, newest=True, limit=20)
        assert isinstance(bench.store, SqliteStore)
        with counted(bench.store) as used:
            await bench.store.list_messages(request)
        return used.total

    async def work(bench: Bench) -> None:
        await deliver(bench, 200)
        shop = await bench.queue()
        await bench.store.accept([bench.draft(shop) for _ in range(200)])
        await bench.advance(5)
        await ids(bench, 100, queue="shop")
        few = await steps(bench)
        other = await bench.queue("other")
        await bench.store.accept([bench.draft(other) for _ in range(4_000)])
        await bench.advance(5)
        await bench.store.list_index(start=True)
        many = await steps(bench)
        assert many < few * 1.5 + 200, (few, many)

    run(tmp_path, work)
