"""The tests also pass when a shell runs them in the background, with Ctrl+C ignored."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_interrupts_reach_what_tests_start_where_the_shell_ignores_them() -> None:
    words = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "tests/cli/test_up.py",
        "-k",
        "interrupt and click",
    )
    shell = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    ended = subprocess.run((*shell, *words), cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
