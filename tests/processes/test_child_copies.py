"""Handlers in child processes that fork, start programs, or say what no encoding has."""

from functools import partial
from pathlib import Path

import pytest

from postroad.errors import JobFailed
from tests.processes import jobs, unimportable
from tests.processes.test_process_handlers import WAIT_S, Stand, is_state, until


@pytest.mark.parametrize(("do", "code"), [("return", 0), ("raise", 1), ("exit", 7)])
def test_only_the_process_that_forked_answers(tmp_path: Path, do: str, code: int) -> None:
    """The copy's answer was taken for the call's, and the next job got the other one."""
    stand = Stand(tmp_path)
    work = stand.road.handler("forking", process=True, concurrency=1, result_ttl=60, retries=0)(
        jobs.forking
    )

    async def story() -> None:
        for _ in range(3):
            receipt = await work.send(jobs.Note(str(stand.file), do))
            assert await receipt.result(timeout=WAIT_S) == f"the copy ended with {code}"
            assert (await stand.road.jobs.wait(receipt.id, timeout=0)).progress is None

    stand.run(story)


def test_a_copy_that_runs_on_does_not_hide_the_end_of_its_parent(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    stand.road.handler("outlived", process=True, retries=0)(jobs.outlived)

    async def story() -> None:
        try:
            number = await stand.send("x", "outlived")
            await until(partial(is_state, stand, number, "dead"))
        finally:
            (tmp_path / "go").touch()
        error = (await stand.road.explain(number)).tries[-1].error
        assert error == "the child process of this call ended by SIGKILL"

    stand.run(story)


def test_what_a_handler_starts_can_be_ended(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    work = stand.road.handler("ending", process=True, result_ttl=60)(jobs.ending_others)

    async def story() -> None:
        receipt = await work.send({})
        assert await receipt.result(timeout=WAIT_S) == [-15, -15]

    stand.run(story)


def test_a_copy_that_is_ended_while_it_is_made_ends(tmp_path: Path) -> None:
    """Python forgets the signals that meet a copy before it runs, if they have a handler."""
    stand = Stand(tmp_path)
    work = stand.road.handler("copies", process=True, result_ttl=60, timeout=120)(
        jobs.ending_copies
    )

    async def story() -> None:
        receipt = await work.send({})
        assert await receipt.result(timeout=WAIT_S) == [-15] * 200

    stand.run(story)


def test_half_a_character_hides_nothing(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    work = stand.road.handler("halves", process=True, result_ttl=60, retries=0)(jobs.halves)

    async def story() -> None:
        fine = await work.send(jobs.Note(str(stand.file), "return"))
        assert await fine.result(timeout=WAIT_S) == "done"
        failed = await work.send(jobs.Note(str(stand.file), "raise"))
        with pytest.raises(JobFailed, match="ValueError: no file \N{REPLACEMENT CHARACTER}"):
            await failed.result(timeout=WAIT_S)

    stand.run(story)
    assert "jobs.py" in stand.log.getvalue()


def test_numbers_of_a_progress_may_be_large_but_not_beyond_all(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    stand.road.handler("far", process=True, retries=0)(jobs.far)

    async def story() -> None:
        fine = await stand.send("30", "far")
        await until(partial(is_state, stand, fine, "delivered"))
        beyond = await stand.send("400", "far")
        await until(partial(is_state, stand, beyond, "dead"))
        assert "give numbers, not negative" in (await stand.road.explain(beyond)).tries[-1].error

    stand.run(story)


def test_an_import_that_fails_with_half_a_character_is_told(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    stand.road.handler("halved", process=True, retries=0)(unimportable.work)

    async def story() -> None:
        number = await stand.send("x", "halved")
        await until(partial(is_state, stand, number, "dead"))
        error = (await stand.road.explain(number)).tries[-1].error
        assert "(ImportError: \N{REPLACEMENT CHARACTER})" in error

    stand.run(story)
