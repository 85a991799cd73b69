"""The webhook benchmarks, small: they come through, and count what they say they count."""

from pathlib import Path

import pytest

from bench import fanout, stand
from bench.shape import Run
from proof.bench_tests.rehearsal import rehearse

LENIENT = """
[every]
counts-agree = 1.0
[webhooks]
times-pgqueuer-aiohttp = 0.0
share-of-bare-pyreqwest = 0.0
p99-calm-over-troubled = 0.0
[lanes]
requests-saved = 0.0
bytes-saved = 0.0
duplicates-saved = 0.0
"""


def test_webhooks_runs_end_to_end(tmp_path: Path) -> None:
    line = rehearse(tmp_path, "webhooks", 2.4, LENIENT)
    ours = {"webhooks", "webhooks-as-shipped", "webhooks-sqlite"}
    late = {"1-over-p99-calm", "1-over-p99-troubled", "p99-calm-over-troubled"}
    assert set(line["ours"]) == ours | late
    assert len(line["peers"]["pgqueuer-aiohttp"]["settings"]) == 3
    sides = [line["ours"], line["peers"], {"bare": line["limit"]["bare-pyreqwest"]}]
    for name, figures in ((n, f) for side in sides for n, f in side.items()):
        assert figures["accepted"] == figures["recorded"] == figures["received"] > 0, name
        assert figures["durability"]["synchronous"] == 2, name
    waits = {n: line["ours"][n]["durability"]["synchronous_while_recording"] for n in ours}
    assert waits == {"webhooks": 2, "webhooks-as-shipped": 0, "webhooks-sqlite": 2}
    assert len(line["bars"]) == 4


def test_everybody_waits_for_the_slow_endpoint_where_all_share_one_place(tmp_path: Path) -> None:
    """The measure can fail: with isolation taken away it does, by far."""
    shared = Run("ours", "one in flight", "bench.hook_isolation:run", {"room": 1})
    calm, troubled, ratio = stand.start(shared, tmp_path, 8.0)
    assert calm.agrees
    assert troubled.agrees
    for taken in (calm, troubled):
        assert all(len(part) > 100 for part in taken.late_us)
    assert ratio.rate < 0.5


def test_lanes_counts_requests_bytes_and_duplicates(tmp_path: Path) -> None:
    line = rehearse(tmp_path, "lanes", 6, LENIENT)
    alone = line["peers"]["a worker for each queue"]
    lane = line["ours"]["one for the lane"]
    for figures in (alone, lane):
        assert figures["requests"] == figures["distinct"] + figures["duplicates"] > 0
        assert figures["bytes"] > 256 * figures["requests"]


def test_fanout_counts_what_it_stores_and_delivers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"ENDPOINTS": 10, "DELIVERED": 5, "ROUNDS": 1, "STORED": 20, "BLOCK": 1}
    for name, size in sizes.items():
        monkeypatch.setattr(fanout, name, size)
    seen = fanout.watch(tmp_path, 2.0, lambda _line: None)
    assert seen.reached["counts-agree"] == 1.0
    assert seen.reached["bytes-allowed-over-stored"] > 0
    assert {"sqlite: a publish, ms", "postgres: a publish, ms"} == set(seen.ours)
    # It can fail: one that was received twice, or never.
    for received in (49, 51):
        lost = fanout.Delivered(1.0, 50, 50, received)
        assert fanout.agreement([lost, fanout.Delivered(1.0, 50, 50, 50)]) == 0.5
