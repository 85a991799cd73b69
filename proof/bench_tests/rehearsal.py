"""A benchmark from end to end, small, with bars that cannot be missed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def rehearse(folder: Path, name: str, seconds: float, bars: str) -> Any:
    """Its last line."""
    floors = folder / "bars.toml"
    floors.write_text(bars)
    command = (sys.executable, "-m", "bench", name, "--seconds", str(seconds), "--bars", floors)
    done = subprocess.run(
        (*command, "--results", folder), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])
