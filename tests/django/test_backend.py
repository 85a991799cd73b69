"""Django's tasks on Postroad: enqueued in its transactions, run by `manage.py postroad worker`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postroad.django.backend import priority_of
from tests.cli.running import data
from tests.servers.postgres import PrivatePostgres

ROOT = Path(__file__).parents[2]
WAIT_S = 150.0


class Project:
    """A Django project with its environment."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.notes = folder / "notes"
        self.notes.touch()
        self.log = folder / "log"
        self.dsn = variables.get("SHOP_DATABASE") or variables["SHOP_ROAD"]
        path = os.pathsep.join((os.environ.get("PYTHONPATH", ""), str(ROOT))).lstrip(os.pathsep)
        own = {"DJANGO_SETTINGS_MODULE": "tests.django.project.settings", "PYTHONPATH": path}
        self.environ = {**os.environ, **own, "SHOP_NOTES": str(self.notes), **variables}

    def program(self, what: str) -> Any:
        """What a program of the project says."""
        words = (sys.executable, "-m", "tests.django.program", what)
        done = subprocess.run(
            words, env=self.environ, capture_output=True, text=True, check=False, timeout=WAIT_S
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def manage(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """One command of manage.py."""
        command = (sys.executable, "-m", "django", *words)
        return subprocess.run(
            command, env=self.environ, capture_output=True, text=True, check=False, timeout=WAIT_S
        )

    @contextmanager
    def worker(self, *words: str) -> Iterator[None]:
        """A worker, until the block ends; it has to end well."""
        command = (sys.executable, "-m", "django", "postroad", "worker", *words)
        with self.log.open("w") as log:
            process = subprocess.Popen(
                command, env=self.environ, stdout=subprocess.PIPE, stderr=log, text=True
            )
            assert process.stdout is not None
            try:
                while "Ctrl+C" not in (line := process.stdout.readline()):
                    assert line, self.log.read_text()
                yield
            finally:
                process.terminate()
                _ = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0, self.log.read_text()

    def until(self, condition: Callable[[list[str]], bool]) -> None:
        """Wait for what tasks have noted."""
        end = time.monotonic() + WAIT_S
        while not condition(self.notes.read_text().splitlines()):
            assert time.monotonic() < end, (self.notes.read_text(), self.log.read_text())
            time.sleep(0.05)


@pytest.fixture
def on_postgres(
    server: PrivatePostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Project:
    monkeypatch.setenv("POSTROAD_KEYS", data("keys", "new")["key"])
    return Project(tmp_path, SHOP_DATABASE=server.create_database())


def test_tasks_are_stored_with_djangos_transaction_and_run_by_its_worker(
    on_postgres: Project,
) -> None:
    said = on_postgres.program("enqueue")
    assert said["heard"]
    assert (said["status"], said["unfinished"]) == ("READY", True)
    assert said["args"] == [[1], {"two": 2}]
    assert len(set(said["ids"])) == 5
    with on_postgres.worker("--processes", "1"):
        on_postgres.until(lambda notes: len(notes) == 4)
        counts = {each["state"] for each in data("messages", "--dsn", on_postgres.dsn)["messages"]}
        assert "waiting" in counts  # the one with run_after, and the one that failed at first
    told = f"told hello 1 {said['ids'][-1]}"
    # What was rolled back, by a transaction or to a savepoint, is not there.
    assert sorted(on_postgres.notes.read_text().splitlines()) == sorted(
        ["add 3", "add 30", "post ann", told]
    )
    heard = on_postgres.notes.with_name("signals").read_text().splitlines()
    first, *_, coroutine, context = said["ids"]
    begun = [f"started RUNNING add {first}", f"finished SUCCESSFUL add {first}"]
    assert [line for line in heard if first in line] == begun
    assert f"finished SUCCESSFUL post {coroutine}" in heard
    assert f"finished FAILED told {context}" in heard


def test_the_connection_stays_djangos(on_postgres: Project) -> None:
    assert on_postgres.program("sessions") == {"rows": 1}


def test_tasks_on_sqlite_go_through_the_window_of_the_worker(
    tmp_path: Path,
) -> None:
    shop, road = str(tmp_path / "shop.db"), f"sqlite:///{tmp_path}/tasks.db"
    project = Project(tmp_path, SHOP_FILE=shop, SHOP_ROAD=road)
    with project.worker():
        said = project.program("enqueue")
        assert len(set(said["ids"])) == 5
        project.until(lambda notes: {"add 3", "add 30", "post ann"} <= set(notes))


def test_mistakes_are_named(tmp_path: Path) -> None:
    project = Project(tmp_path, SHOP_ROAD=f"sqlite:///{tmp_path}/tasks.db")
    assert set(project.program("mistakes")) == {"queue", "priority", "naive", "argument"}
    options = project.program("options")
    assert "retrys= is no option" in options["retries"]
    assert "timeout must be" in options["timeout"]
    assert "works beside PostgreSQL and SQLite" in options["database"]
    without = Project(tmp_path, SHOP_ROAD="")
    refused = without.manage("postroad", "worker")
    assert refused.returncode != 0
    assert 'give OPTIONS a "dsn"' in refused.stderr


def test_the_address_is_what_djangos_database_says_when_it_is_asked(tmp_path: Path) -> None:
    project = Project(tmp_path, SHOP_DATABASE="postgresql://ann:pw@db:5432/shop")
    said = project.program("addresses")
    assert "assume_role" in (refused := said.pop("refused"))
    assert 'give OPTIONS a "dsn"' in refused
    tls = "sslmode=verify-full&sslrootcert=%2Fca"
    assert said == {
        "test": "postgresql://ann:a%2Fb@db:5432/test_shop",
        "tls": f"postgresql://ann:a%2Fb@db:5432/test_shop?{tls}",
        "socket": "postgresql://ann:a%2Fb@/test_shop?host=%2Frun%2Fpg&port=5432",
        "nowhere": "postgresql://ann:a%2Fb@/test_shop?port=5432",
        "six": "postgresql://ann:a%2Fb@[2001:db8::1]:6432/test_shop",
    }


@pytest.mark.wide
def test_what_is_no_task_of_the_project_is_neither_imported_nor_called(tmp_path: Path) -> None:
    said = Project(tmp_path, SHOP_ROAD=f"sqlite:///{tmp_path}/tasks.db").program("strangers")
    assert "in no package" in said["this.s"]
    assert "is no task" in said["tests.django.project.jobs.note"]
    assert "there is no task" in said["tests.django.project.jobs.gone"]
    assert (said["loaded"], said["imported"]) == (True, False)


def test_a_higher_priority_is_never_lower() -> None:
    every = [priority_of(each) for each in range(-100, 101)]
    assert every == sorted(every)
    assert (every[0], priority_of(0), priority_of(1), every[-1]) == (-9, 0, 1, 9)
