"""The last part of `make wide`: the quick tests on every Python that the classifiers name, but for the one of `make test`.

A name on the PATH proves nothing (pyenv puts a shim there for versions that are not switched on), so
each candidate is asked for its version. A Python that is missing is said in the last line.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)\"")
ASK = "import sys; print(*sys.version_info[:2], sep='.')"
HERE = ".".join(map(str, sys.version_info[:2]))


def wanted() -> list[str]:
    """Versions that `make test` does not run on."""
    named = CLASSIFIER.findall((ROOT / "pyproject.toml").read_text())
    return [version for version in named if version != HERE]


def candidates(version: str) -> Iterator[Path]:
    """Where a Python of that version may lie."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield Path(folder) / f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{version}*/bin/python{version}"))
    uv = Path.home() / ".local/share/uv/python"
    yield from sorted(uv.glob(f"cpython-{version}*/bin/python{version}"))


def find(version: str) -> Path | None:
    """The first candidate that really is that version."""
    for path in candidates(version):
        if path.is_file():
            said = subprocess.run((path, "-c", ASK), check=False, capture_output=True, text=True)
            if said.stdout.strip() == version:
                return path
    return None


def run(version: str, python: Path) -> bool:
    """Run the quick tests in an environment of their own; true when they pass."""
    folder = f".venv-{version}"
    if subprocess.call((python, "scripts/venv.py", "dev", folder), cwd=ROOT):
        return False
    own = ROOT / folder / "bin" / "python"
    passed = subprocess.call((own, "scripts/quick.py", "--tests-only"), cwd=ROOT) == 0
    return on_django_6(own, ROOT / folder) and passed


def on_django_6(python: Path, folder: Path) -> bool:
    """Run the tests of Django's tasks with Django 6, which dev.lock has not; true when they pass."""
    beside = folder / "django6"
    pip = (python, "-m", "pip", "install", "-qq", "--no-deps", "--require-hashes", "--upgrade")
    lock = ROOT / "requirements" / "django6.lock"
    if subprocess.call((*pip, "--target", beside, "-r", lock), cwd=ROOT):
        return False
    sys.stdout.write("--- the same with Django 6: tests/django\n")
    sys.stdout.flush()
    environ = {**os.environ, "PYTHONPATH": str(beside)}
    return (
        subprocess.call((python, "-m", "pytest", "-q", "tests/django"), cwd=ROOT, env=environ) == 0
    )


def main() -> int:
    """Run on one Python after the other."""
    begun = time.monotonic()
    ran, missing, failed = [], [], []
    for version in wanted():
        python = find(version)
        if python is None:
            missing.append(version)
            continue
        sys.stdout.write(f"--- Python {version}: {python}\n")
        sys.stdout.flush()
        ran.append(version)
        if not run(version, python):
            failed.append(version)
    sys.stdout.write(
        f"make wide: ran on {', '.join(ran) or 'none'}; not found here, so not run:"
        f" {', '.join(missing) or 'none'}; failed: {', '.join(failed) or 'none'};"
        f" {time.monotonic() - begun:.0f} s in all\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
