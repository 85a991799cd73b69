"""The benchmarks on PostgreSQL, small: they come through, and count what they say they count."""

from pathlib import Path

from proof.bench_tests.rehearsal import rehearse

LENIENT = """
[every]
counts-agree = 1.0
[engine-postgres]
times-pgqueuer = 0.0
handlers-times-pgqueuer = 0.0
send-many-times-pgqueuer = 0.0
send-many-share-of-copy = 0.0
two-busy-processes-times-one = 0.0
[batches]
share-of-plain = 0.0
[campaign]
times-seed-loop = 0.0
import-share-of-copy = 0.0
[idle]
60-over-statements-an-hour = 0.0
60-over-idle-up-statements-an-hour = 0.0
60-over-idle-each-of-two-statements-an-hour = 0.0
250-ms-over-p99-lateness = 0.0
"""


def test_engine_postgres_runs_end_to_end(tmp_path: Path) -> None:
    line = rehearse(tmp_path, "engine-postgres", 1.8, LENIENT)
    engines = {"engine", "engine-as-shipped", "engine-2-processes"}
    pair = {"1-busy-process", "2-busy-processes"}
    assert set(line["ours"]) == {"send-many", *engines, *pair}
    assert set(line["peers"]) == {"pgqueuer", "pgqueuer-pool", "pgqueuer-enqueue"}
    sides = [line["ours"], line["peers"], {"copy": line["limit"]["copy"]}]
    for name, figures in ((n, f) for side in sides for n, f in side.items()):
        assert figures["accepted"] == figures["recorded"] == figures["received"] > 0, name
        assert "fsync on" in figures["durability"]["journal_mode"], name
        assert figures["durability"]["synchronous"] == 2, name
    recording = {name: line["ours"][name]["durability"] for name in engines}
    waits = {name: seen["synchronous_while_recording"] for name, seen in recording.items()}
    assert waits == {"engine": 2, "engine-as-shipped": 0, "engine-2-processes": 0}
    for peer in ("pgqueuer", "pgqueuer-pool"):
        assert len(line["peers"][peer]["settings"]) >= 3
    assert len(line["bars"]) == 6


def test_batches_compares_one_batch_with_plain_messages(tmp_path: Path) -> None:
    line = rehearse(tmp_path, "batches", 1, LENIENT)
    assert set(line["ours"]) == {"plain", "one-batch"}
    reached = {bar["bar"]: bar["reached"] for bar in line["bars"]}
    assert reached.keys() == {"counts-agree", "share-of-plain"}
    assert (reached["counts-agree"], reached["share-of-plain"] > 0) == (1.0, True)


def test_idle_counts_statements_and_lateness(tmp_path: Path) -> None:
    line = rehearse(tmp_path, "idle", 3, LENIENT)
    # In 3 s a worker in peace sends nothing, or its safety poll.
    assert line["ours"]["statements_per_hour"] <= 2_400
    assert line["ours"]["each_of_two_statements_per_hour"] <= 2_400
    assert line["ours"]["lateness"]["messages"] == 15
    assert line["ours"]["lateness"]["early"] == 0
    assert list(line["peers"]["statements_per_hour"].values()) == [889, 7_200]
    assert len(line["bars"]) == 5


def test_campaign_counts_what_the_provider_got(tmp_path: Path) -> None:
    line = rehearse(tmp_path, "campaign", 1.8, LENIENT)
    sides = [line["ours"], line["peers"], {"copy": line["limit"]["copy"]}]
    assert [set(side) for side in sides] == [{"campaign", "import"}, {"seed-loop"}, {"copy"}]
    for name, figures in ((n, f) for side in sides for n, f in side.items()):
        assert figures["accepted"] == figures["recorded"] == figures["received"] > 0, name
        assert figures["durability"]["synchronous"] == 2, name
    assert len(line["peers"]["seed-loop"]["settings"]) >= 3
    assert len(line["bars"]) == 3
