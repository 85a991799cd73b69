"""tests/conftest.py at work, in a run of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import ROOM_BYTES, has_room

CONFTEST = Path(__file__).parents[1] / "conftest.py"

# Every way to dodge a test, one file each. No plugin here reruns tests, so the last one says that
# it did, the way such a plugin does.
DODGES = {
    "skipped test_skip.py::test_it": "def test_it(): pytest.skip('not here')",
    "skipped test_gone.py": "pytest.skip('not here', allow_module_level=True)",
    "xfail test_xfail.py::test_it": "@pytest.mark.xfail\ndef test_it(): assert False",
    "xfail test_xpass.py::test_it": "@pytest.mark.xfail(strict=False)\ndef test_it(): pass",
    "rerun test_rerun.py::test_it": """
@pytest.fixture(autouse=True)
def rerun(request):
    place = ("test_rerun.py", 0, "test_it")
    again = pytest.TestReport("test_rerun.py::test_it", place, {}, "rerun", None, "call")
    request.config.hook.pytest_runtest_logreport(report=again)
def test_it(): pass
""",
}


def run_pytest(folder: Path, files: dict[str, str], workers: int) -> tuple[int, str]:
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    for name, body in files.items():
        (folder / name).write_text(f"import pytest\n{body}\n")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-n", str(workers), str(folder)),
        cwd=folder,
        # Loading every installed plugin would take longer than the run.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.wide
def test_a_run_that_dodges_a_test_fails(tmp_path: Path, workers: int) -> None:
    files = {dodge.split(maxsplit=1)[1].split("::")[0]: body for dodge, body in DODGES.items()}
    code, said = run_pytest(tmp_path, files, workers)
    assert code == 1, said
    dodged = [line for line in said.splitlines() if line.startswith("not run, so the run fails: ")]
    assert sorted(dodged) == sorted(f"not run, so the run fails: {dodge}" for dodge in DODGES)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.wide
def test_a_clean_run_passes_and_names_its_servers(tmp_path: Path, workers: int) -> None:
    uses = "def test_it(postroad_server_versions): postroad_server_versions.append('Broker 9')"
    code, said = run_pytest(tmp_path, {"test_one.py": uses}, workers)
    assert code == 0, said
    assert "servers used: Broker 9, SQLite 3." in said


@pytest.mark.parametrize(("missing_kb", "room"), [(0, "enough"), (1, "too little")])
def test_temporary_files_are_in_memory_only_where_they_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing_kb: int, room: str
) -> None:
    facts = tmp_path / "meminfo"
    facts.write_text(
        f"MemTotal:       99999999 kB\nMemAvailable:   {(ROOM_BYTES >> 10) - missing_kb} kB\n"
    )
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=ROOM_BYTES))
    assert has_room(tmp_path, facts) is (room == "enough")
    assert not has_room(tmp_path / "nowhere", facts)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=ROOM_BYTES - 1))
    assert not has_room(tmp_path, facts)
