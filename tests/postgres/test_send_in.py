"""send_in: inside the caller's own transaction, on every driver."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import asyncpg
import psycopg
import pytest

from postroad import Postroad
from postroad.model.errors import BadInput
from tests.postgres.drivers import DRIVERS, on_asyncpg

Within = Callable[[Coroutine[Any, Any, Any]], Any]
Transaction = Callable[[str], AbstractAsyncContextManager[Any]]


class Undo(Exception):
    """Rolls the caller's transaction back."""


class Desk:
    """A road whose handler notes what comes."""

    def __init__(self, dsn: str) -> None:
        self.road = Postroad(dsn)
        self.came: list[object] = []
        self._news = asyncio.Event()
        self.road.handler("h")(self._take)

    async def _take(self, message: Any) -> None:
        self.came.append(message.body)
        self._news.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(40):
            while len(self.came) < count:
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def at_work(dsn: str) -> AsyncIterator[Desk]:
    """The road runs, and is warm."""
    desk = Desk(dsn)
    async with desk.road:
        running = asyncio.create_task(desk.road.run())
        await desk.road.send("h", "warm")
        await desk.until(1)
        desk.came.clear()
        try:
            yield desk
        finally:
            desk.road.stop()
            await running


@pytest.mark.parametrize("transaction", DRIVERS)
def test_a_commit_sends_and_a_rollback_does_not(
    dsn: str, within: Within, transaction: Transaction
) -> None:
    async def story() -> None:
        async with at_work(dsn) as desk:
            with pytest.raises(Undo):
                async with transaction(dsn) as own:
                    await desk.road.send_in(own, "h", "never")
                    raise Undo
            async with transaction(dsn) as own:
                receipt = await desk.road.send_in(own, "h", b"\x00\xff", headers={"a": "b"})
                await desk.road.send_in(own, "h", {"n": 2}, priority=3)
                assert receipt.id.startswith("msg_")
                await asyncio.sleep(0.05)
                assert desk.came == []
            await desk.until(2)
            assert b"\x00\xff" in desk.came
            assert {"n": 2} in desk.came

    within(story())


def test_it_starts_without_waiting_for_a_poll(dsn: str, within: Within) -> None:
    """Ten in a row: a poll comes once in a minute and a half."""

    async def story() -> None:
        async with at_work(dsn) as desk:
            raw = await asyncpg.connect(dsn)
            for number in range(10):
                async with raw.transaction():
                    await desk.road.send_in(raw, "h", number)
                await desk.until(number + 1)
            await raw.close()

    within(story())


def test_a_long_transaction_blocks_nobody(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with at_work(dsn) as desk, on_asyncpg(dsn) as own:
            await desk.road.send_in(own, "h", "slow", order_key="k")
            for number in range(5):
                async with on_asyncpg(dsn) as other:
                    await desk.road.send_in(other, "h", number, order_key="k")
                await desk.road.send("h", f"by itself {number}", order_key="k")
            await desk.until(10)
            assert "slow" not in desk.came
            assert [n for n in desk.came if isinstance(n, int)] == [0, 1, 2, 3, 4]

    within(story())


def test_the_order_of_a_key_is_kept(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with at_work(dsn) as desk:
            for start in range(0, 120, 40):
                async with on_asyncpg(dsn) as own:
                    for number in range(start, start + 40):
                        await desk.road.send_in(own, "h", number, order_key="k")
            await desk.until(120)
            assert desk.came == list(range(120))

    within(story())


def test_a_key_is_used_once_whichever_way_it_came(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with at_work(dsn) as desk:
            async with on_asyncpg(dsn) as own:
                first = await desk.road.send_in(own, "h", "a", key="k")
                await desk.road.send_in(own, "h", "a", key="k")
                other = await desk.road.send_in(own, "h", "b", key="k")
                await desk.road.send_in(own, "h", "end")
            await desk.until(2)
            assert sorted(map(str, desk.came)) == ["a", "end"]
            again = await desk.road.send("h", "a", key="k")
            assert (again.id, again.duplicate) == (first.id, True)
            (dead,) = (await desk.road.dead.list(queue="h")).messages
            assert (dead.id, str(dead.reason)) == (other.id, "rejected")

    within(story())


def test_what_arrived_while_nobody_was_there_is_found(dsn: str, within: Within) -> None:
    async def story() -> None:
        desk = Desk(dsn)
        async with desk.road:
            async with on_asyncpg(dsn) as own:
                receipt = await desk.road.send_in(own, "h", "early")
            assert (await desk.road.store.counts())["waiting"] == 1
            assert (await desk.road.explain(receipt.id)).id == receipt.id
            await desk.road.run(until_idle=True)
            assert desk.came == ["early"]

    within(story())


def test_what_is_not_a_transaction_is_refused(dsn: str, within: Within) -> None:
    async def story() -> None:
        desk = Desk(dsn)
        async with desk.road:
            raw = await asyncpg.connect(dsn)
            with pytest.raises(BadInput, match="none is open"):
                await desk.road.send_in(raw, "h", 1)
            await raw.close()
            with psycopg.connect(dsn, autocommit=True) as own:
                with pytest.raises(BadInput, match="none is open"):
                    await desk.road.send_in(own, "h", 1)
            with pytest.raises(BadInput, match="cannot be sent through"):
                await desk.road.send_in(object(), "h", 1)
            assert (await desk.road.store.counts())["waiting"] == 0

    within(story())
