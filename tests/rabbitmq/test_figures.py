"""Figures and workers of a road on RabbitMQ are in its state store."""

import asyncio
import os
from pathlib import Path

from postroad import Message, Postroad
from postroad.model.rollup import WorkerState
from tests.rabbitmq.roads import a_road, running, until
from tests.servers.postgres import PrivatePostgres


async def test_tries_are_counted_and_the_worker_is_known(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)

    @road.handler("resize")
    async def resize(_: Message[int]) -> None: ...

    async with road:
        await road.send_many([("resize", n) for n in range(20)])
        assert (await road.workers.list()).workers == ()
        async with running(road):
            await until(lambda: _delivered(road, 20))  # also before they are written
            (worker,) = (await road.workers.list()).workers
            assert (worker.pid, worker.state in WorkerState) == (os.getpid(), True)
            assert worker.state is not WorkerState.lost
        assert await _delivered(road, 20)


async def test_a_worker_is_seen_from_another_process(dsn: str, server: PrivatePostgres) -> None:
    """Both have the same state store on PostgreSQL; the one that looks hears no presence."""
    address = f"{dsn}?state={server.create_road()}"
    worker, looker = Postroad(address), Postroad(address)

    @worker.handler("resize")
    async def resize(_: Message[int]) -> None: ...

    async with worker, looker:
        async with running(worker):
            await until(lambda: _known(looker))
            (seen,) = (await looker.workers.list()).workers
            assert seen.process == worker.owner
        await asyncio.sleep(0)
    async with looker:
        assert (await looker.workers.list()).workers == ()


async def _known(road: Postroad) -> bool:
    return bool((await road.workers.list()).workers)


async def _delivered(road: Postroad, count: int) -> bool:
    points = (await road.rollups.list(by="family")).points
    found = sum(point.tries.get("delivered", 0) for point in points)
    return found == count and {point.name for point in points} == {"handler:resize"}
