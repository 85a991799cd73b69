"""How many processes can compute at once: cores, within what a container may use."""

import asyncio
import os
from pathlib import Path

import pytest

from postroad.engine.deadlines import Deadlines
from postroad.ports.cores import cores
from tests.rig.world import World, simulate


@pytest.mark.parametrize(
    ("quota", "most"), [("max 100000", 64), ("150000 100000", 2), ("20000 100000", 1), ("?", 64)]
)
def test_a_containers_quota_bounds_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, most: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    file = tmp_path / "cpu.max"
    assert cores(file) == 64
    file.write_text(quota + "\n")
    assert cores(file) == most


def test_a_deadline_that_is_brought_forward_is_kept() -> None:
    """A call that waited for its child process has its whole timeout from then on, and no more."""

    async def story(world: World) -> None:
        clock = world.clock

        async def forever() -> None:
            _ = await asyncio.get_running_loop().create_future()

        task = asyncio.create_task(forever())
        deadlines = Deadlines(clock)
        deadlines.start(task, 1.0, clock.steady_s())
        deadlines.extend(task, 3_600.0)
        await clock.sleep(10.0)
        deadlines.extend(task, 2.0)
        begun_s = clock.steady_s()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert clock.steady_s() - begun_s < 3.0
        assert deadlines.end(task) is True

    _ = simulate(1, story)
