"""`postroad worker --processes N` and `up`: a supervisor and its processes, on PostgreSQL."""

import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.running import TASKS, WAIT_S, data, postroad, start
from tests.servers.postgres import PrivatePostgres

MESSAGES = 200


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tasks.py").write_text(TASKS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def dsn(server: PrivatePostgres, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("POSTROAD_KEYS", data("keys", "new")["key"])
    return server.create_database()


class Tree:
    """A supervisor and its processes."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path, dsn: str) -> None:
        self.process = process
        self.dsn = dsn
        self._log = folder / "log"

    @property
    def log(self) -> str:
        return self._log.read_text()

    def pids(self) -> dict[int, int]:
        """The processes that work, by their numbers."""
        found = re.findall(r'event="worker process is ready" number=(\d+) pid=(\d+)', self.log)
        return {int(number): int(pid) for number, pid in found}

    def url(self) -> str:
        """Where the first one serves."""
        assert self.process.stdout is not None
        while not (found := re.search(r"http://\S+?(?=;)", line := self.process.stdout.readline())):
            assert line, self.log
        return found[0]

    def counted(self, url: str) -> float:
        """How many messages all processes have delivered, by the one port."""
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            text = answer.read().decode()
        found = re.findall(r'postroad_tries_total\{.*outcome="delivered".*\} (\S+)', text)
        return sum(map(float, found))


@contextmanager
def tree(folder: Path, dsn: str, *words: str) -> Iterator[Tree]:
    """A supervisor, ended with all its processes."""
    with (folder / "log").open("w") as log:
        process = start(folder, *words, "--dsn", dsn, "--app", "tasks:road", log=log)
        found = Tree(process, folder, dsn)
        try:
            yield found
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(WAIT_S)
            if process.stdout is not None:
                process.stdout.close()


def until(condition: Callable[[], bool], tree: Tree) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, tree.log
        time.sleep(0.1)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # before, or while it is read
        return True


def sends(dsn: str, count: int) -> None:
    lines = "".join(f'{{"queue": "good", "body": {number}}}\n' for number in range(count))
    Path("many.ndjson").write_text(lines)
    sent = postroad("batch", "many.ndjson", "--dsn", dsn)
    assert sent.exit_code == 0, sent.output


def test_a_killed_process_is_started_anew_and_one_port_has_the_sum(folder: Path, dsn: str) -> None:
    with tree(folder, dsn, "up", "--processes", "2", "--listen", "127.0.0.1:0") as found:
        url = found.url()
        until(lambda: len(found.pids()) == 2, found)
        sends(dsn, MESSAGES)
        until(lambda: found.counted(url) == MESSAGES, found)
        killed = found.pids()[1]
        os.kill(killed, signal.SIGKILL)
        until(lambda: found.pids()[1] != killed, found)
        assert 'event="a process ended" number=1 code=-9' in found.log
        # What the killed one had counted is not lost.
        until(lambda: found.counted(url) == MESSAGES, found)
        found.process.terminate()
        assert found.process.wait(WAIT_S) == 0, found.log
        assert all(gone(pid) for pid in found.pids().values())


def test_one_that_cannot_start_beside_others_is_started_again(folder: Path, dsn: str) -> None:
    """The database may be away at that moment: the others go on. (The supervisor loads it, too.)"""
    fails = 'import glob, sys\nopen(f"began-{len(glob.glob(\'began-*\'))}", "x").close()\n'
    fails += "if len(glob.glob('began-*')) == 3: sys.exit('not now')\n"
    (folder / "tasks.py").write_text(fails + TASKS)
    with tree(folder, dsn, "worker", "--processes", "2") as found:
        until(lambda: len(found.pids()) == 2, found)
        assert 'event="a process ended" number=1' in found.log
        assert found.process.poll() is None


def test_processes_end_when_their_supervisor_is_killed(folder: Path, dsn: str) -> None:
    with tree(folder, dsn, "worker", "--processes", "2") as found:
        until(lambda: len(found.pids()) == 2, found)
        found.process.kill()
        until(lambda: all(gone(pid) for pid in found.pids().values()), found)


def test_what_the_first_process_cannot_do_ends_the_supervisor_with_its_code(
    folder: Path, server: PrivatePostgres
) -> None:
    nowhere = server.create_database().rpartition("/")[0] + "/nowhere"
    with tree(folder, nowhere, "worker", "--processes", "2") as found:
        assert found.process.wait(WAIT_S) in (1, 2, 3)
    assert found.log.count("Traceback") == 0
    assert "a process ended" not in found.log


@pytest.mark.usefixtures("folder")
def test_on_sqlite_more_than_one_process_is_refused_with_what_to_do() -> None:
    refused = postroad("worker", "--processes", "2", "--dsn", "sqlite:///road.db")
    assert refused.exit_code == 2
    assert "process=True" in refused.stderr
    assert postroad("worker", "--processes", "0").exit_code == 2
