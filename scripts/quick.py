"""`make quick`: what changed is linted and type-checked, beside the tests that need no server.

Under a minute on two cores. What it leaves out, `make test` runs.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
FOLDERS = ("tests/house", "tests/model", "tests/sim", "tests/contract")
LEFT_OUT = ("answers", "audit", "background", "extras", "imports", "loading", "rules")
"""Tests of the house that start processes: 29 of 112 s of CPU."""


def tests() -> int:
    """Run the quick tests on the Python that runs this."""
    pytest = (sys.executable, "-m", "pytest", "--serverless", "-q", "-n", "2")
    without = (f"--ignore=tests/house/test_{name}.py" for name in LEFT_OUT)
    return subprocess.call((*pytest, "--dist", "worksteal", *without, *FOLDERS), cwd=ROOT)


def changed() -> list[str]:
    """Python files that differ from the last commit, and those that git does not know yet."""
    ours = ("git", "diff", "--name-only", "--diff-filter=d", "HEAD", "--", "*.py")
    new = ("git", "ls-files", "--others", "--exclude-standard", "--", "*.py")
    both = (
        subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
        for words in (ours, new)
    )
    return sorted({name for done in both for name in done.stdout.splitlines()})


def main() -> int:
    """Run all of it, and say how long it took."""
    if sys.argv[1:] == ["--tests-only"]:
        return tests()
    begun = time.monotonic()
    files = changed()
    for words in (("check",), ("format", "--check")):
        if files and subprocess.call((BIN / "ruff", *words, *files), cwd=ROOT):
            return 1
    types = subprocess.Popen((BIN / "mypy",), cwd=ROOT)
    failed = tests()
    failed = types.wait() or failed
    sys.stdout.write(f"make quick: {time.monotonic() - begun:.0f} s in all\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
