"""Opening a road's file: one process at a time, and named errors that leave the file as it was."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw
import pytest

from postroad.model.errors import CorruptStore, ReadOnlyStore, RoadInUse, SchemaTooNew
from postroad.stores.sqlite.file_lock import FileLock
from postroad.stores.sqlite.migration import VERSION
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from tests.contract.clock import ManualClock

NOBODY: Final = 65534
HOLD: Final = """
import asyncio, sys
from pathlib import Path
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore

async def hold():
    store = SqliteStore(Path(sys.argv[1]), SystemClock())
    await store.open()
    sys.stdout.write("open\\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)

asyncio.run(hold())
"""


def road(path: Path) -> SqliteStore:
    return SqliteStore(path, ManualClock(), drive=InlineDrive)


async def made(path: Path) -> Path:
    """A road's file, closed in good order."""
    store = road(path)
    await store.open()
    await store.close()
    return path


async def refused(path: Path, error: type[Exception], says: str) -> None:
    """It cannot be opened, says why, and holds nothing afterwards."""
    for _ in range(2):
        with pytest.raises(error, match=says):
            await road(path).open()


def foreign(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


@contextmanager
def held_by_another_process(path: Path) -> Iterator[int]:
    child = subprocess.Popen(
        (sys.executable, "-c", HOLD, str(path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child, child.stdin, child.stdout:
        assert child.stdout.readline() == b"open\n"
        yield child.pid
        child.send_signal(signal.SIGKILL)


# One process


async def test_a_file_that_another_process_has_open_is_refused_by_its_number(
    tmp_path: Path,
) -> None:
    path = tmp_path / "road.db"
    with held_by_another_process(path) as pid:
        await refused(path, RoadInUse, rf"road\.db is open in process {pid}\b.*PostgreSQL")
    await made(path)  # it was killed, and the file is free


async def test_a_file_that_this_process_has_open_is_refused_too(tmp_path: Path) -> None:
    store = road(tmp_path / "road.db")
    await store.open()
    await refused(tmp_path / "road.db", RoadInUse, str(os.getpid()))
    assert (await store.counts())["waiting"] == 0
    await store.close()
    await made(tmp_path / "road.db")


async def test_the_owners_of_a_dead_process_are_reaped_when_the_file_is_opened(
    tmp_path: Path,
) -> None:
    store = road(tmp_path / "road.db")
    await store.open()
    owner = await store.join()
    await store.write("test", lambda db: db.connection.execute(
        "insert into lane (tenant, transport, server, credential, shard, pool, owner)"
        " values ('', 'web', 'host', '', 0, 'web', ?)", (owner,)
    ))  # fmt: skip
    await store.close()
    again = road(tmp_path / "road.db")
    await again.open()
    row = await again.read("test", lambda db: db.connection.execute(
        "select owner, crashes from lane"
    ).fetchall())  # fmt: skip
    await again.close()
    assert row == [(None, 1)]


# Other files


async def test_a_road_of_a_newer_release_is_left_alone(tmp_path: Path) -> None:
    path = await made(tmp_path / "road.db")
    foreign(path, f"pragma user_version = {VERSION + 1}")
    before = path.read_bytes()
    await refused(path, SchemaTooNew, rf"has schema {VERSION + 1}.*upgrade Postroad")
    assert path.read_bytes() == before


FOREIGN: Final = {
    "plain": ("create table songs (title)",),
    "with its own id": ("create table songs (title)", "pragma application_id = 77"),
    "with its own versions": ("create table songs (title)", f"pragma user_version = {VERSION}"),
    "far ahead": ("create table songs (title)", f"pragma user_version = {VERSION + 40}"),
}


@pytest.mark.parametrize("statements", FOREIGN.values(), ids=FOREIGN)
async def test_another_programs_database_is_left_alone(
    tmp_path: Path, statements: tuple[str, ...]
) -> None:
    path = tmp_path / "songs.db"
    foreign(path, *statements)
    before = path.read_bytes()
    await refused(path, CorruptStore, "name another file")
    assert path.read_bytes() == before


def _scribble(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1_000)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def _damage(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[4096:] = b"\xa5" * (len(whole) - 4096)
    path.write_bytes(whole)


def _damage_lanes(path: Path) -> None:
    """Only what is read last when a road is opened: who owns which lane."""
    connection = apsw.Connection(str(path))
    roots = connection.execute("select rootpage from sqlite_schema where tbl_name = 'lane'")
    pages = [int(str(page)) for (page,) in roots]
    connection.close()
    whole = bytearray(path.read_bytes())
    for page in pages:
        whole[(page - 1) * 4096 : page * 4096] = b"\xa5" * 4096
    path.write_bytes(whole)


@pytest.mark.parametrize("harm", [_scribble, _cut, _damage, _damage_lanes])
async def test_a_damaged_file_is_named_and_left_alone(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    path = await made(tmp_path / "road.db")
    harm(path)
    before = path.read_bytes()
    await refused(path, CorruptStore, "restore a backup|name another file")
    assert path.read_bytes() == before


async def test_an_empty_file_becomes_a_road(tmp_path: Path) -> None:
    (tmp_path / "road.db").touch()
    await made(tmp_path / "road.db")


async def test_a_road_is_the_same_road_when_it_is_opened_again(tmp_path: Path) -> None:
    path = await made(tmp_path / "road.db")
    store = road(path)
    await store.open()
    first = await store.join()
    await store.close()
    await store.open()  # the same object, too
    assert await store.join() > first
    await store.close()


# Files that cannot be written


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write everything: be somebody who may not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def allow(path: Path, mode: int) -> None:
    path.chmod(mode)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can reach; pytest's own are for one user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


async def test_a_folder_that_cannot_be_written_is_named(open_folder: Path) -> None:
    allow(open_folder, 0o555)
    with as_nobody():
        await refused(open_folder / "road.db", ReadOnlyStore, "cannot write .*road.db")


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    await refused(tmp_path / "nowhere" / "road.db", ReadOnlyStore, "nowhere/road.db")


async def test_a_folder_in_the_files_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "road.db").mkdir()
    await refused(tmp_path / "road.db", ReadOnlyStore, "road.db")


@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
async def test_a_file_that_cannot_be_written_is_named(open_folder: Path, folder_mode: int) -> None:
    path = await made(open_folder / "road.db")
    allow(path, 0o444)
    allow(open_folder / "road.db.lock", 0o666)
    allow(open_folder, folder_mode)
    before = path.read_bytes()
    with as_nobody():
        await refused(path, ReadOnlyStore, "road.db")
    assert path.read_bytes() == before


def test_a_child_of_the_owner_is_told_about_reloaders(tmp_path: Path) -> None:
    """They import a program in two processes."""
    path = tmp_path / "road.db"
    program = (
        "import sys; from pathlib import Path\n"
        "from postroad.stores.sqlite.file_lock import FileLock\n"
        "FileLock(Path(sys.argv[1])).take()"
    )
    lock = FileLock(path)
    lock.take()
    words = (sys.executable, "-c", program, str(path))
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    lock.drop()
    assert "RoadInUse" in done.stderr
    assert "is_running_from_reloader" in done.stderr
