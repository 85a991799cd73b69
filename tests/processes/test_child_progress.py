"""Handlers in child processes tell how far they have come."""

from pathlib import Path

from tests.processes import jobs
from tests.processes.test_process_handlers import Stand, is_state, until


def test_a_child_tells_how_far_its_job_has_come(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    stand.road.handler("copying", process=True)(jobs.copying)

    async def come(number: str, done: float) -> bool:
        told = (await stand.road.jobs.wait(number, timeout=0)).progress
        return told is not None and (told.done, told.total) == (done, 2_000)

    async def story() -> None:
        number = await stand.send("x", "copying")
        await until(lambda: come(number, 1_000))
        assert [one.id for one in await stand.road.jobs.running()] == [number]
        (tmp_path / "go").touch()
        await until(lambda: is_state(stand, number, "delivered"))
        await until(lambda: come(number, 2_000))

    stand.run(story)
