"""The plugin in a run of its own, found by pytest as it finds any installed plugin."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "pyproject.toml"

TESTS = """
from postroad import Message

def test_one(road):
    seen = []

    @road.handler("greet")
    def greet(message: Message[str]):
        seen.append(message.body)

    road.send("greet", "Ada")
    road.assert_sent("greet", "Ada", count=1)
    assert road.deliver_all() == 1
    assert seen == ["Ada"]

def test_two_has_a_road_of_its_own(road):
    road.handler("greet")(lambda message: None)
    road.assert_sent("greet", count=0)
    road.advance(86_400)

def test_three_fails(road):
    road.handler("greet")(lambda message: None)
    road.send("greet", "Bob")
    road.assert_sent("greet", "Ada")
"""


def installed(folder: Path) -> Path:
    """What an installer leaves behind, as far as pytest looks at it."""
    points = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["pytest11"]
    info = folder / "postroad-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: postroad\nVersion: 0\n")
    lines = [f"{name} = {module}" for name, module in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    return folder


@pytest.mark.wide
def test_an_installed_postroad_gives_tests_a_road(tmp_path: Path) -> None:
    """Two that pass, and one whose failure says what was sent."""
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "test_it.py").write_text(TESTS)
    path = os.pathsep.join([str(installed(tmp_path / "site")), *sys.path])
    # Loading every other installed plugin took 4 s of CPU.
    others = [
        f"no:{each.name}" for each in entry_points(group="pytest11") if each.name != "postroad"
    ]
    without = [word for name in ("no:cacheprovider", *others) for word in ("-p", name)]
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *without, "-W", "error", str(suite)),
        cwd=suite,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "'Ada' was not sent to 'greet'; sent there:" in done.stdout
    assert re.search(r"^test_it\.py:\d+: AssertionError$", done.stdout, re.MULTILINE)
