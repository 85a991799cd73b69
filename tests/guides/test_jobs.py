"""The guide for jobs runs, prints what it shows, and its test passes with the plugin."""

import os
import subprocess
import sys
from pathlib import Path

from tests.guides.running import examples, run, same

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "jobs.md"


def test_each_example_prints_what_the_guide_shows(tmp_path: Path) -> None:
    """Each is a program of its own."""
    found = [example for example in examples(GUIDE) if example.shown]
    assert len(found) == 6
    for example in found:
        printed = run(example.code, tmp_path)
        assert same(printed, example.shown), printed


def test_the_guides_own_test_passes(tmp_path: Path) -> None:
    """With the fixture that the plugin brings."""
    (example,) = [example for example in examples(GUIDE) if not example.shown]
    (tmp_path / "test_guide.py").write_text(example.code)
    plugin = ("-p", "postroad.testing.plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *plugin, "-q", str(tmp_path)),
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
