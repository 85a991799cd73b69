"""`postroad store backup`: of a road that runs, whole and verified, or not there at all."""

import asyncio
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from postroad import Postroad
from postroad.model.errors import BadInput, CorruptStore, SchemaTooNew
from postroad.model.ids import to_number
from postroad.stores.sqlite import backup
from postroad.stores.sqlite.backup import back_up
from tests.cli.running import data, postroad
from tests.restoring.backing import ids_in, start_sender

KILLED = """
import os, signal, sys
from pathlib import Path
from postroad.stores.sqlite import backup

place = sys.argv[3]

def die(*_given):
    os.kill(os.getpid(), signal.SIGKILL)

if place != "pages":
    setattr(backup, place, die)
backup.PAGES = 1
told = die if place == "pages" else lambda *_given: None
backup.back_up(Path(sys.argv[1]), Path(sys.argv[2]), 1, told)
"""


@pytest.fixture
def sender(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    process = start_sender(tmp_path, f"sqlite:///{tmp_path}/road.db")
    try:
        yield process
    finally:
        process.kill()
        _ = process.communicate()


def receipts(process: "subprocess.Popen[str]", count: int) -> set[int]:
    assert process.stdout is not None
    return {to_number(process.stdout.readline().strip()) for _ in range(count)}


def test_a_road_is_backed_up_while_it_sends(
    sender: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    before = receipts(sender, 100)
    made = data("store", "backup", f"{tmp_path}/copy.db", "--dsn", f"sqlite:///{tmp_path}/road.db")
    during = receipts(sender, 100)
    assert sender.poll() is None
    copied = ids_in(tmp_path / "copy.db")
    assert copied >= before  # whatever had its receipt
    assert made["rows"] >= len(before)
    assert made["counts"]["queue"] == 1
    sender.kill()
    _ = sender.wait()
    assert ids_in(tmp_path / "road.db") >= before | during | copied  # nothing was taken away
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert not [*tmp_path.glob("*.part*")]


def road_with(path: Path, count: int) -> None:
    async def make() -> None:
        road = Postroad(f"sqlite:///{path}")
        road.handler("good")(print)
        async with road:
            for n in range(count):
                _ = await road.send("good", {"n": n, "padding": "x" * 2000})

    asyncio.run(make())


async def waiting_in(path: Path) -> dict[str, int]:
    async with Postroad(f"sqlite:///{path}") as road:
        return {each.queue: each.waiting for each in (await road.inspect.queues()).queues}


@pytest.mark.parametrize("place", ["pages", "_verify", "_name"])
def test_a_backup_that_is_killed_is_not_there_and_the_road_is_unharmed(
    tmp_path: Path, place: str
) -> None:
    road, target = tmp_path / "road.db", tmp_path / "copy.db"
    road_with(road, 30)
    ended = subprocess.run(
        (sys.executable, "-c", KILLED, road, target, place), capture_output=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not target.exists()
    assert len([*tmp_path.glob("copy.db.*.part")]) == 1  # what it left, which no later one uses
    assert len(ids_in(road)) == 30
    _ = back_up(road, target, 1, lambda _done, _of: None)
    assert len(ids_in(target)) == 30
    assert asyncio.run(waiting_in(target)) == {"good": 30}


def test_a_copy_that_is_not_the_same_gets_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verification sees a row that is missing, and a page that is damaged."""
    road, target = tmp_path / "road.db", tmp_path / "copy.db"
    road_with(road, 30)
    copy = backup._copy

    def lossy(source: Path, part: Path, told: backup.Told) -> dict[str, int]:
        counts = copy(source, part, told)
        connection = apsw.Connection(str(part))
        connection.execute("delete from message where id in (select id from message limit 1)")
        connection.close()
        return counts

    def damaged(source: Path, part: Path, told: backup.Told) -> dict[str, int]:
        counts = copy(source, part, told)
        with part.open("r+b") as file:
            for page in range(4, 40):
                file.seek(page * 4096 + 8)
                file.write(b"\xff" * 64)
        return counts

    for spoilt, said in ((lossy, "other rows"), (damaged, "damaged")):
        monkeypatch.setattr(backup, "_copy", spoilt)
        with pytest.raises(CorruptStore, match=said):
            _ = back_up(road, target, 1, lambda _done, _of: None)
        assert [file.name for file in tmp_path.glob("copy.db*")] == []


def test_what_cannot_be_backed_up_is_refused_by_name(tmp_path: Path) -> None:
    road = tmp_path / "road.db"
    dsn = f"sqlite:///{road}"
    assert "there is no road at" in postroad("store", "backup", "x.db", "--dsn", dsn).stderr
    road_with(road, 1)
    for target, said in (
        (road, "is there already"),
        (tmp_path / "no" / "x.db", "cannot write into"),
    ):
        refused = postroad("store", "backup", str(target), "--dsn", dsn)
        assert (refused.exit_code, said in refused.stderr) == (2, True), refused.stderr
    refused = postroad("store", "backup", "x.db", "--dsn", "postgresql://h/d")
    assert (refused.exit_code, "pg_dump" in refused.stderr) == (2, True)
    with apsw.Connection(str(road)) as connection:
        connection.execute("pragma user_version = 999")
    with pytest.raises(SchemaTooNew):
        _ = back_up(road, tmp_path / "x.db", 1, lambda _done, _of: None)
    assert [file for file in tmp_path.iterdir() if not file.name.startswith("road.db")] == []


def test_a_name_that_is_taken_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    road, target = tmp_path / "road.db", tmp_path / "copy.db"
    road_with(road, 1)
    verify = backup._verify

    def taken(part: Path, counts: dict[str, int], now_ms: int) -> None:
        verify(part, counts, now_ms)
        target.write_text("mine")

    monkeypatch.setattr(backup, "_verify", taken)
    with pytest.raises(BadInput, match="is there already"):
        _ = back_up(road, target, 1, lambda _done, _of: None)
    assert target.read_text() == "mine"
