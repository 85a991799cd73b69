"""RabbitMQ's guide runs, and prints what it shows."""

from pathlib import Path

import pytest

from tests.guides.running import examples, run, same

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "rabbitmq.md"


def test_the_example_prints_what_the_guide_shows(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROAD", f"{dsn}?state=sqlite:///state.db")
    (example,) = examples(GUIDE)
    printed = run(example.code, tmp_path)
    assert same(printed, example.shown), printed
