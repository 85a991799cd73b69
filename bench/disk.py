"""Where the data lies: a folder on a real disk, removed afterwards."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.shape import Refused

HERE = Path(__file__).parent
TEMPORARY = HERE / ".tmp"
IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}


def filesystem_of(folder: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The type of the file system that holds a folder."""
    place = folder.resolve()
    found = (len(Path("/").parts), "unknown")
    if not mounts.exists():
        return found[1]
    for line in mounts.read_text().splitlines():
        _, point, kind, *_ = line.split(" ")
        mount = Path(point.encode().decode("unicode_escape"))
        # The last of equals counts: it was mounted over the others.
        if place.is_relative_to(mount) and len(mount.parts) >= found[0]:
            found = (len(mount.parts), kind)
    return found[1]


def refuse_memory(folder: Path) -> str:
    """The type of the file system, which must be one where fsync costs something."""
    kind = filesystem_of(folder)
    if kind in IN_MEMORY:
        raise Refused(f"{folder} lies on {kind}, where fsync is free: give --folder on a disk")
    return kind


@contextmanager
def workspace(parent: Path) -> Iterator[Path]:
    """An empty folder that is gone afterwards, and so are those of runs that were killed."""
    parent.mkdir(parents=True, exist_ok=True)
    for old in parent.glob("run-*"):
        if not Path(f"/proc/{old.name.removeprefix('run-')}").exists():
            shutil.rmtree(old, ignore_errors=True)
    folder = parent / f"run-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def copy_to_disk(source: Path, target: Path) -> None:
    """A copy that is written out, so that its pages do not reach the disk in the middle of a
    measurement.
    """
    shutil.copyfile(source, target)
    handle = os.open(target, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_us(folder: Path, times: int = 20) -> float:
    """What one fdatasync of one page costs here and now: the figure under all others."""
    path = folder / "sync"
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    took_s = []
    try:
        for number in range(times):
            os.pwrite(handle, bytes(4096), number * 4096)
            start_s = time.perf_counter()
            os.fdatasync(handle)
            took_s.append(time.perf_counter() - start_s)
    finally:
        os.close(handle)
        path.unlink()
    return median(took_s) * 1e6
