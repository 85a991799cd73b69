"""The pages of docs/reference/ say what the code does."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["commands.md", "errors.md", "metrics.md"])
def test_a_page_is_what_the_code_says(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text()
    assert written == reference().pages()[name], "run: python scripts/reference.py"


def test_every_command_option_and_error_has_words() -> None:
    for name, text in reference().pages().items():
        for line in text.splitlines():
            assert not re.search(r"\|\s+\|$", line) or line == "| | |", f"{name}: {line}"
