"""The hub's benchmark, small: it comes through, and counts what it says it counts."""

from pathlib import Path
from typing import Any

from bench import hub


def test_the_hub_benchmark_runs_end_to_end(tmp_path: Path) -> None:
    told: list[str] = []
    seen = hub.watch(tmp_path, 2.0, told.append, steps=(200, 1_000), windows=(16,))
    assert seen.reached["counts-agree"] == 1.0
    assert set(seen.reached) > {"300-bytes-over-each", "times-task-and-commit-each"}
    sides: list[dict[str, Any]] = [seen.ours, seen.peers]
    for side in sides:
        assert set(side["bytes_each"]) == {200, 1_000}
        (run,) = side["traffic"]
        assert run["accepted"] == run["acked"] == run["received"] > 0
        assert (run["left"], run["journal_mode"], run["synchronous"]) == (0, "wal", 2)
    assert len(told) == 6
