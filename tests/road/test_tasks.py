"""A task of the store's that dies ends the run, and is logged with its trace."""

import asyncio
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.observe.log import make_log
from postroad.observe.tasks import Tasks
from postroad.stores.postgres.base import PostgresBase
from postroad.verbs.parts import Parts
from tests.servers.postgres import PrivatePostgres


def test_a_task_that_dies_is_told_and_one_that_is_cut_is_not() -> None:
    async def story() -> None:
        heard: list[BaseException] = []
        tasks = Tasks(make_log("critical"), heard.append)

        async def breaks() -> None:
            raise ZeroDivisionError

        await asyncio.wait([tasks.start(breaks(), "breaks")])
        _ = tasks.start(asyncio.sleep(60), "sleeps")
        await tasks.close()
        assert [type(one) for one in heard] == [ZeroDivisionError]
        late: list[BaseException] = []
        tasks.tell(late.append)  # who comes later is told as well
        assert late == heard

    asyncio.run(story())


def test_a_store_whose_task_dies_ends_the_run(
    server: PrivatePostgres, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Arrivals would wait for ever, and nobody would know why."""

    async def broken(_self: object) -> int:
        raise ZeroDivisionError("somewhere deep")

    async def story() -> None:
        road = Postroad(server.create_road())
        async with road, asyncio.timeout(60):
            running = asyncio.create_task(road.run())
            while road.engine is None:
                await asyncio.sleep(0.01)
            monkeypatch.setattr(PostgresBase, "move_arrivals", broken)
            road.store.bell.listen(road.owner, road.engine)  # looks for arrivals
            with pytest.raises(ZeroDivisionError, match="deep"):
                await running

    asyncio.run(story())
    assert "a part of the road broke" in caplog.text


def test_an_engine_whose_loop_dies_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_self: object) -> None:
        raise ZeroDivisionError("somewhere deep")

    monkeypatch.setattr("postroad.engine.recorder.Recorder.run", broken)

    async def story() -> None:
        parts = Parts(log=make_log("critical"))
        async with Postroad(f"sqlite:///{tmp_path}/road.db", parts=parts) as road:
            with pytest.raises(ZeroDivisionError):
                await road.run()

    asyncio.run(story())
