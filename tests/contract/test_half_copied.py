"""Nothing runs on a road that is half copied, whoever began it and however that ended."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from postroad import Postroad
from postroad import sync as blocking
from postroad.model.errors import CopyUnfinished, RoadInUse
from postroad.stores.copying import copy
from postroad.stores.opening import migrate
from tests.contract.postgres import Template
from tests.contract.test_copying import fill, quiet, road_at, told

PROGRAM = Path(__file__).with_name("copying_process.py")


async def kill_a_copy(source: str, target: str, table: str = "message") -> None:
    """Begins a copy in another process, which is killed when a table is there."""
    command = (sys.executable, "-m", "tests.contract.copying_process", source, target, table)
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            while True:
                line = (await process.stdout.readline()).decode().split()
                assert line, "the copy ended before it could be killed"
                if line[0] == table and line[1] == line[2]:
                    break
    finally:
        process.kill()
        await process.wait()


async def test_a_copy_that_was_killed_leaves_a_road_that_does_not_run(
    tmp_path: Path, postgres: Template
) -> None:
    source, target = f"sqlite:///{tmp_path}/road.db", postgres.server.create_database()
    ids = await fill(source)
    async with road_at(source, []) as road:
        before = await told(road, ids)
    await kill_a_copy(source, target)
    seen: list[Any] = []
    with pytest.raises(CopyUnfinished, match="run the same `postroad store copy` again"):
        async with road_at(target, seen) as road:
            await road.run(until_idle=True)
    with pytest.raises(CopyUnfinished):
        blocking.Postroad(target).__enter__()
    with pytest.raises(CopyUnfinished):
        await migrate(target)
    assert seen == []
    done = await copy(source, target, quiet)
    assert done.already_ms == 0
    async with road_at(target, seen) as road:
        assert await told(road, ids) == before
        await road.run(until_idle=True)
    assert sorted(map(str, seen)) == sorted(f"late {n}" for n in range(20))


async def test_who_was_connected_before_cannot_write_while_a_road_is_copied(
    tmp_path: Path, postgres: Template
) -> None:
    """Triggers refuse it: an open connection asks nobody whether it may."""
    source, target = f"sqlite:///{tmp_path}/road.db", postgres.server.create_database()
    await fill(source)
    early = await connected(target)
    try:
        await kill_a_copy(source, target, "queue")
        for statement in (
            "insert into postroad.process (beat_at, host, pid) values (1, 'h', 1)",
            "update postroad.lane set owner = 1",
            "delete from postroad.queue",
        ):
            with pytest.raises(asyncpg.PostgresError) as refused:
                await early.execute(statement)
            assert refused.value.sqlstate == "PR001"
        await copy(source, target, quiet)
        await early.execute("update postroad.lane set crashes = 0")
    finally:
        await early.close()


async def connected(dsn: str) -> "asyncpg.Connection[asyncpg.Record]":
    async with Postroad(dsn):
        pass
    return await asyncpg.connect(dsn)


async def test_a_road_is_not_started_while_it_is_copied(tmp_path: Path, postgres: Template) -> None:
    source, target = f"sqlite:///{tmp_path}/road.db", postgres.server.create_database()
    await fill(source)
    refused: list[str] = []

    def meanwhile(_name: str, _done: int, _all: int) -> None:
        if not refused:
            done = subprocess.run(
                (sys.executable, "-c", OPENS, source), capture_output=True, text=True, check=False
            )
            refused.append(done.stdout.strip())

    await copy(source, target, meanwhile)
    assert refused == [RoadInUse.__name__]


OPENS = """
import asyncio, sys
from postroad import Postroad
from postroad.model.errors import RoadInUse

async def main():
    try:
        async with Postroad(sys.argv[1]):
            print("opened")
    except RoadInUse:
        print("RoadInUse")

asyncio.run(main())
"""
