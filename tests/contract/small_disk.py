"""A disk with little room on it."""

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from postroad.model.errors import DiskFull, StoreError

DISK_KIB: Final = 6_144


class SmallDisk(Protocol):
    """Room can be taken away and given back. `error` is what a store must say without it."""

    folder: Path
    error: type[StoreError]

    def keep_free(self, kib: int) -> None:
        """Fill the disk up, but for so much."""

    def make_room(self) -> None:
        """Throw away what filled it."""


class OwnDisk:
    """A file system of its own; mounting one takes root."""

    error: type[StoreError] = DiskFull

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._spare = folder / "spare"

    def keep_free(self, kib: int) -> None:
        room = os.statvfs(self.folder)
        size = room.f_bavail * room.f_frsize - kib * 1024
        with self._spare.open("ab") as spare:
            spare.write(bytes(max(0, size)))

    def make_room(self) -> None:
        self._spare.unlink(missing_ok=True)


class ShortFiles:
    """For everybody else: no file may grow past a limit. SQLite calls that an I/O error."""

    error: type[StoreError] = StoreError

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

    def keep_free(self, kib: int) -> None:
        largest = max((path.stat().st_size for path in self.folder.iterdir()), default=0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + kib * 1024, self._hard))

    def make_room(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._hard, self._hard))


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """A small disk for as long as it is needed."""
    if os.geteuid() != 0:
        short = ShortFiles(folder)
        try:
            yield short
        finally:
            short.make_room()
        return
    size = f"size={DISK_KIB}k"
    subprocess.run(("mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)), check=True)
    try:
        yield OwnDisk(folder)
    finally:
        subprocess.run(("umount", str(folder)), check=True)
