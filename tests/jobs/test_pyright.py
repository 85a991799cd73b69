"""What is sent to handlers is checked by pyright as it is by mypy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.webhook_requests.node import installed, programs

FOLDER = Path(__file__).parent / "node"
FILES = ("package.json", "package-lock.json")
TYPED = Path(__file__).parent / "typed_calls.py"
REFUSED = 15


@pytest.mark.wide
def test_pyright_checks_what_is_sent_against_the_handlers_parameter(tmp_path: Path) -> None:
    lines = TYPED.read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if "# type: ignore" in line}
    unmarked = tmp_path / "calls.py"
    unmarked.write_text("\n".join(line.partition("  # type: ignore")[0] for line in lines))
    settings = {"include": ["calls.py"], "typeCheckingMode": "strict"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    checker = str(installed(FOLDER, FILES) / "node_modules" / "pyright" / "index.js")
    where = ("--project", str(tmp_path), "--pythonpath", sys.executable, "--outputjson")
    done = subprocess.run(
        [programs()[0], checker, *where], capture_output=True, text=True, timeout=280, check=False
    )
    told = json.loads(done.stdout)["generalDiagnostics"]
    found = {one["range"]["start"]["line"] + 1 for one in told if one["severity"] == "error"}
    assert found == marked, done.stdout
    assert len(marked) == REFUSED
