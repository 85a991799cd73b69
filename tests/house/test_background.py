"""The tests also pass when a shell runs them in the background, with Ctrl+C ignored."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEARS = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"


def heard() -> str:
    """What a process that a test starts says of Ctrl+C: "True" when it hears it."""
    done = subprocess.run((sys.executable, "-Sc", HEARS), capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_what_tests_start_hears_interrupts() -> None:
    assert heard() == "True"


def test_interrupts_reach_what_tests_start_where_the_shell_ignores_them() -> None:
    test = f"{Path(__file__).relative_to(ROOT)}::{test_what_tests_start_hears_interrupts.__name__}"
    words = (sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(ROOT), test)
    shell = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    ended = subprocess.run(
        (*shell, *words),
        cwd=ROOT,
        # Loading every installed plugin would take longer than the run.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
    deaf = subprocess.run(
        (*shell, sys.executable, "-Sc", HEARS), capture_output=True, text=True, check=True
    )
    assert deaf.stdout == "False\n"  # without the run's own rules
