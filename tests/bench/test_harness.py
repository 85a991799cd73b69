"""The harness ends with one line of JSON, and its exit code says whether the bars hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as harness
from bench import stand
from bench.disk import filesystem_of
from bench.rounds import plan
from bench.shape import Run, Taken
from tests.bench import fakes
from tests.bench.fakes import Fake


class Said:
    """One call of the harness."""

    def __init__(self, code: int, out: str, folder: Path) -> None:
        self.code = code
        self.text = out
        self.line: dict[str, Any] = json.loads(out.splitlines()[-1])
        self.folder = folder

    @property
    def bars(self) -> dict[str, bool]:
        return {bar["bar"]: bar["holds"] for bar in self.line["bars"]}


def in_this_process(run: Run, folder: Path, seconds: float) -> list[Taken]:
    """The real benchmarks' tests start processes; here it would only take time."""
    options: dict[str, Any] = {**run.options}
    return fakes.run(folder, seconds, **options)


@pytest.fixture
def measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Runs a fake benchmark with a table of bars, wherever the test's own files lie."""

    def call(fake: Fake, times_peer: float = 4.0) -> Said:
        monkeypatch.setitem(harness.BENCHMARKS, "fake", fake)
        monkeypatch.setattr(harness, "refuse_memory", lambda _folder: "ext4")
        monkeypatch.setattr(stand, "start", in_this_process)
        bars = tmp_path / "bars.toml"
        bars.write_text(f"[every]\ncounts-agree = 1.0\n[fake]\ntimes-peer = {times_peer}\n")
        work = tmp_path / "work"
        options = ("--bars", bars, "--results", tmp_path / "results", "--folder", work)
        code = harness.main(["fake", "--seconds", "1", *map(str, options)])
        return Said(code, capsys.readouterr().out, tmp_path)

    return call


def test_the_last_line_is_the_result(measure: Any) -> None:
    said = measure(Fake())
    assert list(said.line) == ["bench", "ours", "peers", "limit", "bars"]
    assert said.line["ours"]["ours"]["messages_per_s"] == 1_000
    assert said.line["bars"][1] == {
        "bar": "times-peer",
        "floor": 4.0,
        "reached": 5.0,
        "holds": True,
    }
    assert said.code == 0


def test_a_peer_counts_at_its_best_setting(measure: Any) -> None:
    peer = measure(Fake()).line["peers"]["peer"]
    assert (peer["setting"], peer["settings"]) == ("fast", {"fast": 200.0, "slow": 100.0})


def test_progress_and_a_table_come_before_the_line(measure: Any) -> None:
    said = measure(Fake())
    assert "round 1/1  peer (fast): 200/s, 200 accepted, 200 recorded, 200 received" in said.text
    assert "times-peer" in said.text.split("contestant")[1]


def test_a_missed_bar_gives_exit_code_1(measure: Any) -> None:
    said = measure(Fake(), times_peer=5.1)
    assert said.bars == {"counts-agree": True, "times-peer": False}
    assert said.code == 1


def test_a_lost_message_is_a_missed_bar(measure: Any) -> None:
    said = measure(Fake(ours_received=999))
    assert said.bars == {"counts-agree": False, "times-peer": True}
    assert "COUNTS DIFFER: 1000 accepted, 1000 recorded, 999 received" in said.text
    assert said.code == 1


def test_unequal_durability_gives_exit_code_2(measure: Any) -> None:
    said = measure(Fake(peer_synchronous=1))
    assert said.line["bars"] == []
    assert "durability is unequal" in said.line["error"]
    assert said.code == 2


def test_a_folder_in_memory_gives_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    code = harness.main(["engine-sqlite", "--seconds", "1", "--folder", "/dev"])
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert "where fsync is free" in line["error"]
    assert code == 2


def test_results_are_kept_and_work_is_removed(measure: Any) -> None:
    said = measure(Fake())
    kept = json.loads((said.folder / "results" / "fake.json").read_text())
    assert kept.pop("measured")["cores"] >= 1
    assert kept == said.line
    assert list((said.folder / "work").iterdir()) == []


def test_work_of_a_killed_run_is_removed(measure: Any, tmp_path: Path) -> None:
    left = tmp_path / "work" / "run-4194305"  # above the highest process number
    left.mkdir(parents=True)
    measure(Fake())
    assert not left.exists()


def test_the_file_system_is_that_of_the_deepest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nmem {tmp_path}/a\\040b tmpfs rw 0 0\n")
    assert filesystem_of(tmp_path / "a b" / "c", mounts) == "tmpfs"
    assert filesystem_of(tmp_path / "a bc", mounts) == "ext4"


@pytest.mark.parametrize(("seconds", "rounds"), [(1, 1), (9, 1), (10, 3), (60, 6), (120, 12)])
def test_at_least_three_rounds_unless_it_is_a_rehearsal(seconds: float, rounds: int) -> None:
    planned = plan(seconds, slices=10, slice_s=1.0)
    assert planned.rounds == rounds
    assert planned.rounds * planned.slice_s * 10 == pytest.approx(seconds)


def test_every_benchmark_has_its_row_in_the_papers() -> None:
    paper = (Path(harness.__file__).parents[1] / "docs" / "benchmarks.md").read_text()
    names = harness.BENCHMARKS.keys() | harness.WATCHES.keys()
    assert {name for name in names if f"\n| `{name}` | " not in paper} == set()
