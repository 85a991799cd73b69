"""What a crash of the server must not forget."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from postroad import Postroad
from postroad.model.errors import StoreUnavailable
from postroad.model.record import Release
from tests.servers.postgres import ELSEWHERE, PrivatePostgres

Within = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def own_server() -> Iterator[PrivatePostgres]:
    """One that may be stopped, and writes nothing to the disk by itself for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(ELSEWHERE, raising=False)
        with PrivatePostgres(wal_writer_delay="10s") as pg:
            yield pg


def test_who_owns_a_lane_survives_a_crash_of_the_server(
    own_server: PrivatePostgres, within: Within
) -> None:
    """A claim that is forgotten would have its lane served by two, a release by nobody."""
    dsn = own_server.create_database()
    name = dsn.rpartition("/")[2].partition("?")[0]
    road = Postroad(dsn)
    road.handler("h")(lambda _message: None)

    def owned() -> int:
        return int(own_server.sql("select count(*) from postroad.lane where owner > 0", name))

    async def story() -> None:
        async with road:
            await road.send("h", 1)
            claim = await road.store.claim(road.owner, [0], ["handler:h"], 64)
            own_server.restart("immediate")
            assert len(claim.lanes) == owned() == 1
            lanes = [Release(lane.id, lane.epoch) for lane in claim.lanes]
            for _ in range(30):
                try:
                    await road.store.release(road.owner, lanes)
                    break
                except StoreUnavailable:
                    await asyncio.sleep(0.5)
            own_server.restart("immediate")
            assert owned() == 0

    within(story())
