"""send_in: the message is sent if the caller's own transaction commits, and soon after."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from postroad import Postroad
from tests.crash.book import now_ms
from tests.crash.orders import Parcel, tag
from tests.fleet.fleet import Fleet
from tests.fleet.recipients import Boxes, register
from tests.postgres.drivers import DRIVERS, on_asyncpg

SOON_MS = 250
"""The promise; the best of a few tries must keep it, whatever else the machine does."""
TRIES = 3


class Undo(Exception):
    """The caller thinks better of it."""


Way = Callable[[str], AbstractAsyncContextManager[object]]


@asynccontextmanager
async def sender(dsn: str) -> AsyncIterator[Postroad]:
    """A road that sends and does not run."""
    road = Postroad(dsn, transports=[Boxes(None)])
    register(road, None)
    async with road:
        yield road


def test_a_commit_sends_and_a_rollback_does_not(fleet: Fleet) -> None:
    fleet.crew(1)
    committed_ms: dict[str, list[tuple[str, int]]] = defaultdict(list)

    async def send(road: Postroad, way: Way, turn: int) -> None:
        with pytest.raises(Undo):  # noqa: PT012 - the end of the transaction is what raises
            async with way(fleet.dsn) as connection:
                await road.send_in(connection, "quick", Parcel(tag("quick", turn, 99)))
                raise Undo
        async with way(fleet.dsn) as connection:
            receipt = await road.send_in(connection, "quick", Parcel(tag("quick", turn, 0)))
        committed_ms[way.__name__].append((receipt.id, now_ms()))

    async def go() -> None:
        async with sender(fleet.dsn) as road:
            for turn, way in enumerate(DRIVERS * TRIES):
                await send(road, way, turn)

    asyncio.run(go())
    count = TRIES * len(DRIVERS)
    fleet.wait(lambda: len(fleet.said("done")) == count, "all that was committed arrives", 5.0)
    fleet.rest(0.3)
    started_ms = {line.id: line.at_ms for line in fleet.said("start")}
    assert len(started_ms) == count
    for way, sent in committed_ms.items():
        assert min(started_ms[name] - at_ms for name, at_ms in sent) < SOON_MS, way


def test_a_long_transaction_blocks_nobody(fleet: Fleet) -> None:
    fleet.crew(1)

    async def go() -> None:
        async with sender(fleet.dsn) as road, on_asyncpg(fleet.dsn) as long:
            for key in ("", "a"):
                queue = "keys" if key else "quick"
                mine = Parcel(tag(queue, 9, 0, key or "-"))
                await road.send_in(long, queue, mine, order_key=key or None)
                for turn in range(5):
                    parcel = Parcel(tag(queue, turn, 0, key or "-"))
                    async with asyncio.timeout(5):
                        await road.send(queue, parcel, order_key=key or None)
                    async with asyncio.timeout(5), on_asyncpg(fleet.dsn) as short:
                        parcel = Parcel(tag(queue, turn, 1, key or "-"))
                        await road.send_in(short, queue, parcel, order_key=key or None)
            await asyncio.to_thread(
                fleet.wait, lambda: len(fleet.said("done")) == 20, "the others arrive", 5.0
            )

    asyncio.run(go())
    fleet.wait(lambda: len(fleet.said("done")) == 22, "and then the long one's own", 5.0)
