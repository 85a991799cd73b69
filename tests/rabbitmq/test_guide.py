"""RabbitMQ's guide runs, and prints what it shows."""

from pathlib import Path

import pytest

from tests.guides.running import examples, run, same

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "rabbitmq.md"
HASTY = "from postroad.stores.rabbitmq.topology import creating\ncreating.SAFE_S = 0.0\n"
"""Nobody kills this broker, so that a new queue need not be on its disk before it is used."""


def test_the_example_prints_what_the_guide_shows(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROAD", f"{dsn}?state=sqlite:///state.db")
    (example,) = examples(GUIDE)
    printed = run(HASTY + example.code, tmp_path)
    assert same(printed, example.shown), printed
