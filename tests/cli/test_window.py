"""The note of a road's owner, and what else lies beside a road's file: planted by somebody who may
write there, it is not followed, not believed, and told."""

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from postroad.api.owner_note import BYTES_MAX, OwnerNote, leave_note, note_of, read_note

from postroad.model.errors import UnsafeFile
from postroad.stores import privacy
from tests.cli.running import UP, data, postroad, running

ANOTHER = 54_321
DOOR = OwnerNote("http://127.0.0.1:9", "prt_secret", 1)


@pytest.fixture
def note(road: str) -> Path:
    found = note_of(road)
    assert found is not None
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_the_note_is_its_users_alone_whatever_the_umask(road: str, note: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        leave_note(road, DOOR)
    finally:
        os.umask(before)
    assert mode(note) == 0o600
    assert read_note(road) == DOOR
    assert [each.name for each in note.parent.glob("*.door*")] == [note.name]


@pytest.mark.parametrize("end", ["", ".part"])
def test_a_link_where_the_note_goes_is_replaced_and_not_followed(
    road: str, note: Path, tmp_path: Path, end: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    victim.chmod(0o644)
    Path(f"{note}{end}").symlink_to(victim)
    leave_note(road, DOOR)
    assert (victim.read_text(), mode(victim)) == ("mine", 0o644)
    assert read_note(road) == DOOR
    assert not note.is_symlink()


@contextmanager
def trap() -> Iterator[tuple[str, list[bytes]]]:
    """A server of somebody else's: its address, and what it was told."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                with line:
                    heard.append(line.recv(1 << 16))

        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", heard


def linked(note: Path) -> None:
    elsewhere = note.with_name("elsewhere")
    note.rename(elsewhere)
    note.symlink_to(elsewhere)


def of_another(note: Path) -> None:
    os.chown(note, ANOTHER, -1)


def open_to_its_group(note: Path) -> None:
    note.chmod(0o640)


def a_pipe(note: Path) -> None:
    note.unlink()
    os.mkfifo(note, 0o600)


def endless(note: Path) -> None:
    with note.open("ab") as file:
        file.write(b" " * BYTES_MAX)


def a_folder(note: Path) -> None:
    note.unlink()
    note.mkdir(0o700)


PLANTED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link": (linked, "it is a link"),
    "of another user": (of_another, f"belongs to user {ANOTHER}"),
    "open to its group": (open_to_its_group, "mode 640, not 600"),
    "a pipe": (a_pipe, "no regular file"),
    "endless": (endless, "bytes, more than"),
    "a folder": (a_folder, "no regular file"),
}


@pytest.mark.parametrize("how", PLANTED)
def test_a_note_that_somebody_else_may_have_written_leads_nowhere(
    road: str, note: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, told = PLANTED[how]
    with trap() as (url, heard):
        leave_note(road, OwnerNote(url, "prt_x", 1))
        if plant is of_another and os.geteuid() != 0:
            # Only root can give a file away: another one asks, for a road that is root's.
            mine = os.geteuid()
            told = f"belongs to user {mine}"
            monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
            monkeypatch.setattr(privacy, "_owner", lambda _road: privacy.ROOT)
        else:
            plant(note)
        refused = postroad("stats")
        assert refused.exit_code == 2, refused.output
        said = " ".join(refused.stderr.split())
        assert note.name in said
        assert told in said
        assert "remove it" in said
        assert heard == []
        found = [each for each in data_of_doctor() if each["part"] == "server"]
        assert [(each["state"], told in each["found"]) for each in found] == [("fail", True)]
        if how in ("of another user", "open to its group"):  # its readers' look is what stops it
            monkeypatch.setattr(privacy, "_unsafe", lambda *_: "")
            assert postroad("stats").exit_code == 0
            assert b"prt_x" in heard[0]


def data_of_doctor() -> list[dict[str, str]]:
    result = postroad("doctor", "--json")
    return msgspec.json.decode(result.stdout, type=list[dict[str, str]])


def test_a_road_that_belongs_to_another_user_has_that_ones_note(road: str, note: Path) -> None:
    """Root looks after a service: what the road's owner wrote beside it is believed."""
    leave_note(road, DOOR)
    if os.geteuid() == 0:
        for each in (note, note.with_suffix("")):
            os.chown(each, ANOTHER, -1)
    assert read_note(road) == DOOR


def test_where_every_user_may_replace_files_no_token_is_left(road: str, note: Path) -> None:
    note.parent.chmod(0o777)
    with pytest.raises(UnsafeFile, match="chmod o-w"):
        leave_note(road, DOOR)
    assert not note.exists()
    note.parent.chmod(0o1777)  # there others cannot
    leave_note(road, DOOR)


def test_a_server_that_cannot_leave_a_note_says_so_and_serves(folder: Path, road: str) -> None:
    assert road
    (folder / "road" / "road.db.door").mkdir()
    with running(folder, *UP, without_note=True) as (process, _door):
        assert process.stderr is not None
        line = process.stderr.readline()
        while "--server" not in line:
            assert line, "it ended"
            line = process.stderr.readline()
        assert "road.db.door" in line


@pytest.mark.parametrize("how", ["a link", "of another user"])
def test_planted_keys_seal_nothing(road: str, how: str, folder: Path) -> None:
    assert road
    keys = folder / "road" / "road.db.keys"
    if how == "a link":
        linked(keys)
    elif os.geteuid() == 0:
        of_another(keys)
    else:
        a_pipe(keys)
    refused = postroad("send", "good", "1")
    assert refused.exit_code == 2, refused.output
    assert "road.db.keys is not read" in " ".join(refused.stderr.split())


def test_a_first_key_that_another_had_begun_is_not_taken(road: str, folder: Path) -> None:
    """The name of a draft is known: whoever may write there could have put a key of his there."""
    assert road
    keys = folder / "road" / "road.db.keys"
    keys.rename(folder / "theirs")
    keys.with_name("road.db.keys.new").symlink_to(folder / "theirs")
    refused = postroad("send", "good", "1")
    assert refused.exit_code == 2, refused.output
    assert "road.db.keys.new is not read: it is a link" in " ".join(refused.stderr.split())


def test_a_link_in_place_of_the_lock_is_not_followed(road: str, folder: Path) -> None:
    assert road
    lock = folder / "road" / "road.db.lock"
    lock.unlink()
    victim = folder / "victim"
    victim.write_text("mine")
    lock.symlink_to(victim)
    refused = postroad("stats")
    assert refused.exit_code == 3, refused.output
    assert victim.read_text() == "mine"
    lock.unlink()
    os.mkfifo(lock)
    assert postroad("stats").exit_code == 3
    lock.unlink()
    assert data("stats")["waiting"] == 0
