"""PostgreSQL is restarted by its operator: whoever runs a road lives on."""

import asyncio
from collections.abc import Iterator

import pytest

from postroad import Message, Postroad
from postroad.model.errors import StoreUnavailable
from tests.servers.postgres import ELSEWHERE, PrivatePostgres

RESTARTS = 4
WAIT_S = 60.0


@pytest.fixture
def own_server() -> Iterator[PrivatePostgres]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(ELSEWHERE, raising=False)
        with PrivatePostgres() as own:
            yield own


async def sent(road: Postroad, turn: int) -> None:
    """A road whose server was just restarted says that it is away, until it has looked again."""
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                _ = await road.send("job", turn)
            except StoreUnavailable:
                await asyncio.sleep(0.05)
            else:
                return


async def outlives(server: PrivatePostgres, dsn: str) -> None:
    """Run a road while its server is restarted; raises what ended it."""
    came = asyncio.Queue[int]()
    async with Postroad(dsn) as road:

        @road.handler("job")
        async def job(message: Message[int]) -> None:
            came.put_nowait(message.body)

        running = asyncio.create_task(road.run())
        for turn in range(RESTARTS):
            await sent(road, turn)
            got = asyncio.create_task(came.get())
            await asyncio.wait((running, got), timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
            assert got.done()
            assert got.result() == turn
            await asyncio.to_thread(server.restart)
        road.stop()
        await asyncio.wait_for(running, WAIT_S)


def test_a_road_outlives_restarts_of_its_server(own_server: PrivatePostgres) -> None:
    asyncio.run(outlives(own_server, own_server.create_database()))
