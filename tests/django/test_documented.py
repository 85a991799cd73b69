"""What Django's documentation says of tasks, in docs/guide/frameworks.md, each with a test of this folder."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
GUIDE = FOLDER.parents[1] / "docs" / "guide" / "frameworks.md"


def test_each_documented_behaviour_names_a_test_that_exists() -> None:
    table = GUIDE.read_text().partition("| Django's documentation says |")[2].partition("\n\n")[0]
    rows = table.splitlines()[2:]
    here = "".join(path.read_text() for path in FOLDER.glob("test_*.py"))
    found = set(re.findall(r"^def (test_\w+)", here, re.MULTILINE))
    assert len(rows) >= 12
    for row in rows:
        named = set(re.findall(r"`(test_\w+)`", row))
        assert named, f"names no test: {row}"
        assert named <= found, f"no such test: {named - found}"
