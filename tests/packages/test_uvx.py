"""The demo without an installation, as README says: uv makes an environment and throws it away."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import release
from tests.packages.installing import Stranger

pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]
TYPED = re.compile(r"^ *uvx (--from \. postroad demo)(?: |$)", re.MULTILINE)


def pip(*words: str | Path) -> None:
    done = subprocess.run(
        (sys.executable, "-m", "pip", *words), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_uvx_runs_the_demo_from_a_checkout_and_from_the_wheel(tmp_path: Path) -> None:
    """Pip fetches what uv installs: it alone is told the way to an index everywhere."""
    dist, wheels = tmp_path / "dist", tmp_path / "wheels"
    dist.mkdir()
    _ = release.build(dist, release.epoch())
    locks = release.ROOT / "requirements"
    pip("install", "-q", "--no-deps", "--target", tmp_path / "uv", "-r", locks / "uv.lock")
    pip("download", "-q", "--no-deps", "-d", wheels, "-r", locks / "run.lock")
    pip("download", "-q", "-d", wheels, "hatchling")
    checkout = Stranger(tmp_path, dist).gets_checkout(dist)
    (typed,) = TYPED.findall((release.ROOT / "README.md").read_text())
    uvx = str(tmp_path / "uv" / "bin" / "uvx")
    environ = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("POSTROAD_", "UV_"))},
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_OFFLINE": "1",
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(wheels),
        "UV_PYTHON": sys.executable,
    }
    wheel = str(next(dist.glob("*.whl")))
    for words in (typed.split(), ["--from", wheel, "postroad", "demo"]):
        small = ("--plain", "--messages", "60", "--speed", "600")
        done = subprocess.run(
            (uvx, *words, *small), cwd=checkout, env=environ, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert re.search(r"demo: 60 accepted, \d+ delivered, \d+ dead, 0 lost", done.stdout)
