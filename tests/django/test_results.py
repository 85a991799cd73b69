"""Results of Django's tasks, by the behaviours that its documentation lists."""

from pathlib import Path

import pytest

from tests.django.test_backend import Project, on_postgres

__all__ = ["on_postgres"]
PATH = "builtins.ValueError"


def check(project: Project) -> None:
    said = project.program("results")
    assert said["supports"] is True
    assert said["read"] == [True, "SUCCESSFUL", 3, [1], {"two": 2}]
    assert said["task"] == [True, 3, 3]
    assert said["times"]
    assert said["told"] == ["SUCCESSFUL", 2, [PATH]]
    assert said["failed"] == ["FAILED", 2, "ValueError"]
    assert said["errors"] == [True, True]
    assert said["traceback"]
    assert said["odd"][:2] == ["FAILED", 1]
    assert (
        "what the task tests.django.project.jobs.odd returned cannot be written" in said["odd"][2]
    )
    assert '"result_ttl": 0 in the OPTIONS of TASKS' in said["odd"][2]
    assert said["running"] == [False, True, 1, "ValueError"]
    assert said["slow"] == "at last"
    assert said["waiting"] == ["READY", None, 0]
    for case in ("unknown", "nonsense", "foreign"):
        assert said[case] == "TaskResultDoesNotExist"
    assert said["mismatch"] == "TaskResultMismatch"


def test_results_are_read_from_another_process_on_postgres(on_postgres: Project) -> None:
    on_postgres.environ["SHOP_SOON"] = "1"
    with on_postgres.worker("--processes", "1"):
        check(on_postgres)


@pytest.mark.wide
def test_results_are_read_through_the_window_on_sqlite(tmp_path: Path) -> None:
    project = Project(tmp_path, SHOP_ROAD=f"sqlite:///{tmp_path}/tasks.db", SHOP_SOON="1")
    with project.worker():
        check(project)


@pytest.mark.wide
def test_without_a_worker_an_enqueue_on_sqlite_says_what_to_do(tmp_path: Path) -> None:
    said = Project(tmp_path, SHOP_ROAD=f"sqlite:///{tmp_path}/tasks.db").program("alone")
    assert "start `manage.py postroad worker`" in said["said"]
