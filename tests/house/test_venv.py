"""`scripts/venv.py` makes environments, and deletes what is in the way: nothing but environments."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "venv.py"


@pytest.mark.parametrize("folder", ["src", ".", ".."])
def test_no_folder_but_an_environment_is_deleted(tmp_path: Path, folder: str) -> None:
    kept = tmp_path / "checkout" / "src" / "kept.py"
    for name in ("scripts", "src", "requirements"):
        (tmp_path / "checkout" / name).mkdir(parents=True)
    kept.touch()
    for name in ("run", "dev"):
        (tmp_path / "checkout" / "requirements" / f"{name}.lock").touch()
    script = shutil.copy(SCRIPT, tmp_path / "checkout" / "scripts")
    ended = subprocess.run(
        (sys.executable, script, "run", folder), check=False, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert "usage" in ended.stderr
    assert kept.exists()
