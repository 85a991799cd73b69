"""A message that kills its process reaches the dead set and takes no neighbour along."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from postroad.model.states import DeadReason
from tests.rabbitmq.roads import a_road

ROOT = Path(__file__).parents[2]
NEIGHBOURS = 60
DEATHS_MAX = 12


def live(dsn: str) -> int:
    """One life of the worker; how it ended."""
    command = (sys.executable, "-m", "tests.rabbitmq.poison_process", dsn)
    paths = f"{ROOT / 'src'}:{ROOT}"
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, check=False).returncode


@pytest.mark.wide
async def test_only_the_poison_dies(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)

    @road.handler("quick")
    async def quick(_job: object) -> None: ...

    async with road:
        bodies = [{"n": n, "poison": n == NEIGHBOURS // 2} for n in range(NEIGHBOURS + 1)]
        receipts = await road.send_many([("quick", body) for body in bodies])
    deaths = 0
    while live(road.dsn) != 0:
        deaths += 1
        assert deaths < DEATHS_MAX
    async with road:
        (dead,) = (await road.dead.list()).messages
        assert dead.id == receipts[NEIGHBOURS // 2].id
        assert dead.reason == DeadReason.crash_loop
        assert (await road.store.counts())["delivered"] == NEIGHBOURS
    assert deaths == 5
