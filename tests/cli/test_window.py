"""A road's window: who may look through it, and what is in its place that somebody else put
there."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from postroad.cli import client
from postroad.model.errors import ForeignWindow, NoOwner, UnsafeFile
from postroad.stores import window_socket
from postroad.stores.window_socket import connect, listen, peer_of, window_of
from tests.cli.running import UP, WAIT_S, data, postroad, start
from tests.servers.door import asked

ANOTHER = 54_321
OWNER = """
import asyncio, sys
from postroad import Postroad, Settings
from postroad.verbs.window import RoadWindow

opened = RoadWindow.open

def open_late(window):
    asyncio.get_running_loop().call_later(0.7, opened, window)

if sys.argv[2] == "late":
    RoadWindow.open = open_late

async def main():
    async with Postroad(sys.argv[1], settings=Settings(window=sys.argv[2] != "off")):
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


@pytest.fixture
def window(road: str) -> Path:
    found = window_of(road)
    assert found is not None
    return found


@contextmanager
def owner(dsn: str, window: str = "on") -> Iterator["subprocess.Popen[str]"]:
    """A program that has the road open, and nothing else."""
    words = (sys.executable, "-c", OWNER, dsn, window)
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process


def file_of(road: str) -> Path:
    return Path(road.removeprefix("sqlite:///"))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_window_is_its_users_alone_whatever_the_umask(
    road: str, window: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        with listen(window, file_of(road)):
            modes = [stat.S_IMODE(each.lstat().st_mode) for each in (window, window / "socket")]
    finally:
        os.umask(before)
    assert modes == [0o700, 0o600]


def test_a_road_that_a_program_has_open_is_looked_into_by_commands(road: str, window: Path) -> None:
    with owner(road) as process:
        number = data("send", "good", "1", "--dsn", road)["id"]
        assert [each["queue"] for each in data("queues", "--dsn", road)["queues"]] == [
            "bad",
            "good",
            "slow",
        ]
        assert data("messages", "--dsn", road)["messages"][0]["id"] == number
        assert data("message", "explain", number, "--dsn", road)["state"] == "waiting"
        assert data("pause", "good", "--dsn", road)["done"] == "paused"
        assert data("message", "cancel", number, "--dsn", road)["state"] == "cancelled"
        lines = data("audit", "list", "--dsn", road)["lines"]
        assert {(each["actor"], each["verb"]) for each in lines} == {
            ("window", "pause_queue"),
            ("window", "cancel"),
        }
        assert {each["name"].split()[0] for each in lines} == {str(os.geteuid())}
        assert all(each["address"] == f"process {os.getpid()}" for each in lines)
        assert asked(road, "GET", "/v1/about")["pid"] == process.pid
    assert not window.exists()
    assert data("message", "show", number)["state"] == "cancelled"  # in the store itself


@pytest.mark.wide
def test_a_command_waits_for_a_program_that_is_just_starting(road: str) -> None:
    with owner(road, "late"):
        assert data("stats", "--dsn", road)["waiting"] == 0


def test_a_road_without_a_window_says_so(
    road: str, window: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "STARTING_S", 0.3)
    with owner(road, "off"):
        assert not window.exists()
        told = postroad("stats", "--dsn", road)
        assert told.exit_code == 3
        assert "window=False" in " ".join(told.stderr.split())


@pytest.mark.wide
def test_what_a_killed_process_left_is_no_obstacle(road: str, window: Path) -> None:
    with owner(road) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(WAIT_S)
        assert (window / "socket").exists()
        with pytest.raises(NoOwner, match="no process answers"):
            connect(road, 1.0)
        assert data("stats", "--dsn", road)["waiting"] == 0  # by the store itself
    with owner(road) as process:
        assert asked(road, "GET", "/v1/about")["pid"] == process.pid


def a_link(window: Path) -> None:
    window.with_name("elsewhere").mkdir()
    window.symlink_to(window.with_name("elsewhere"))


def a_file(window: Path) -> None:
    window.write_text("mine")


def a_full_folder(window: Path) -> None:
    (window / "socket").mkdir(parents=True)


@pytest.mark.parametrize("plant", [a_link, a_file, a_full_folder])
@pytest.mark.wide
def test_where_something_else_is_in_its_place_a_road_runs_without(
    folder: Path, road: str, window: Path, plant: Callable[[Path], None]
) -> None:
    plant(window)
    with pytest.raises(UnsafeFile, match=r"road\.db\.window.*remove it"):
        _ = listen(window, file_of(road))
    process = start(folder, *UP)
    try:
        assert process.stderr is not None
        while "this road has no window" not in (line := process.stderr.readline()):
            assert line, "it ended"
        assert str(window.name) in line
        assert process.stdout is not None
        while "Ctrl+C stops" not in (line := process.stdout.readline()):
            assert line, "it ended"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert not window.is_file() or window.read_text() == "mine"


def test_a_window_of_another_user_is_not_believed(
    road: str, window: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listen(window, file_of(road)) as trap:
        if os.geteuid() == 0:
            os.chown(window, ANOTHER, -1)
            uid = ANOTHER
        else:  # only root can give a folder away: another one asks, for a road that is root's
            uid = os.geteuid()
            monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
            monkeypatch.setattr(window_socket, "owner_of", lambda _road: 0)
        with pytest.raises(ForeignWindow, match=f"of user {uid}.*as that user or as root"):
            connect(road, 1.0)
        told = postroad("stats")
        assert told.exit_code == 3
        assert f"user {uid}" in " ".join(told.stderr.split())
        found = [each for each in findings() if each["part"] == "server"]
        assert [each["state"] for each in found] == ["fail"]
        trap.settimeout(0.0)
        with pytest.raises(BlockingIOError):
            trap.accept()  # nobody has asked there
        monkeypatch.setattr(window_socket, "_check_owner", lambda *_: None)
        monkeypatch.setattr(window_socket, "_believed", lambda _road: (0, uid, os.geteuid()))
        connect(road, 1.0).close()  # its readers' look is what stopped it


def findings() -> list[dict[str, str]]:
    result = postroad("doctor", "--json")
    return msgspec.json.decode(result.stdout, type=list[dict[str, str]])


def test_a_process_of_another_user_that_listens_there_is_not_believed(
    road: str, window: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is ours; the kernel says whose process it is."""
    with listen(window, file_of(road)):
        monkeypatch.setattr(
            window_socket,
            "peer_of",
            lambda line: msgspec.structs.replace(peer_of(line), uid=ANOTHER),
        )
        with pytest.raises(ForeignWindow, match=f"of user {ANOTHER}"):
            connect(road, 1.0)


def test_a_path_that_is_too_long_for_a_socket_has_a_window_too(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30) / ("longer" * 20)
    folder.mkdir(parents=True)
    dsn = f"sqlite:///{folder}/road.db"
    assert len(dsn) > 200
    with owner(dsn) as process:
        assert asked(dsn, "GET", "/v1/about")["pid"] == process.pid
        assert data("queues", "--dsn", dsn)["queues"] == []


def test_where_addresses_are_short_a_long_one_is_named(
    road: str, window: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_socket, "DESCRIPTORS", Path("/nowhere"))
    monkeypatch.setattr(window_socket, "ADDRESS_BYTES_MAX", 10)
    with pytest.raises(UnsafeFile, match="more than 10 bytes"):
        _ = listen(window, file_of(road))
    monkeypatch.setattr(window_socket, "ADDRESS_BYTES_MAX", 4_096)
    monkeypatch.chdir(window.parent)  # as short as any: where the test's own folder is too long
    with listen(Path(window.name), Path("road.db")):
        connect("sqlite:///road.db", 1.0).close()
