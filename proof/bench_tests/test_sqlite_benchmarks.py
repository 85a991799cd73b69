"""The real benchmarks, small: they come through, and count what they say they count."""

import json
import subprocess
import sys
from pathlib import Path

from bench import mailboxes, stand
from bench.shape import Options, Run

ROOT = Path(__file__).parents[2]
FIGURES = {
    "messages_per_s",
    "setting",
    "settings",
    "rounds",
    "cpu_us_per_message",
    "accepted",
    "recorded",
    "received",
    "durability",
}
LENIENT = """
[every]
counts-agree = 1.0
[engine-sqlite]
times-huey = 0.0
share-of-raw-apsw = 0.0
send-64-times-sequential = 0.0
"""


def test_engine_sqlite_runs_end_to_end(tmp_path: Path) -> None:
    bars = tmp_path / "bars.toml"
    bars.write_text(LENIENT)
    command = (sys.executable, "-m", "bench", "engine-sqlite", "--seconds", "1", "--bars", bars)
    done = subprocess.run(
        (*command, "--results", tmp_path), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    line = json.loads(done.stdout.splitlines()[-1])
    assert set(line["ours"]) == {"engine", "engine-as-shipped", "send-sequential", "send-64"}
    sides = [line["ours"], line["peers"], {"raw-apsw": line["limit"]["raw-apsw"]}]
    for name, figures in ((n, f) for side in sides for n, f in side.items()):
        assert set(figures) == FIGURES, name
        assert figures["accepted"] == figures["recorded"] == figures["received"] > 0, name
        assert figures["durability"]["journal_mode"] == "wal", name
        assert figures["durability"]["synchronous"] == 2, name
    assert line["ours"]["engine"]["durability"]["synchronous_while_recording"] == 2
    assert len(line["peers"]["huey"]["settings"]) >= 3
    assert line["limit"]["fdatasync"]["median_us"] > 0
    assert len(line["bars"]) == 4


def test_blocked_messages_stay_where_they_are_while_healthy_ones_pass(tmp_path: Path) -> None:
    told: list[str] = []
    empty, full = mailboxes.build(tmp_path, 2_000, told.append)
    assert told[-1] == "built 2,000 of 2,000 blocked messages"
    for start, blocked in ((full, 2_000), (empty, 0)):
        place = tmp_path / f"round-{blocked}"
        place.mkdir()
        order: Options = {"start": str(start), "blocked": blocked}
        (taken,) = stand.start(Run("ours", "", "bench.mailboxes:run", order), place, 0.1)
        assert taken.agrees
        assert taken.durability.synchronous == 2


def test_ingest_counts_what_was_answered_and_stored(tmp_path: Path) -> None:
    runs = {
        "single": Run("ours", "few", "bench.posting:single", {"connections": 4}),
        "not-storing": Run(
            "limit", "few", "bench.posting:single", {"connections": 4, "storing": 0}
        ),
        "batch": Run("ours", "few", "bench.posting:batch", {"lines": 50, "connections": 2}),
    }
    for name, run in runs.items():
        place = tmp_path / name
        place.mkdir()
        (taken,) = stand.start(run, place, 0.3)
        assert (taken.name, taken.agrees) == (name, True)
        assert (taken.durability.journal_mode, taken.durability.synchronous) == ("wal", 2)
