"""Files that requests bring: their names, and how they are saved."""

import errno
import fcntl
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Final

from postroad.api.request import Request
from postroad.model.errors import BodyTooLarge, Crowded, DiskFull
from postroad.model.foreign import clean

UPLOAD_BYTES_MAX: Final = 2 << 30
UPLOADS_BYTES_MAX: Final = 2 * UPLOAD_BYTES_MAX
"""Maximum size of all files that are being imported; the largest file fits into the half of its
tenant."""
LATER: Final = "nothing of this one was stored; send it again when they are done"
FILE_NAME_MAX: Final = 100
FILE_NAME_BYTES_MAX: Final = 250
FOLDER: Final = "postroad-upload-"
YOUNG_MS: Final = 60_000
"""A folder that is younger may have just been made, and not be locked yet."""
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def file_name(given: str, otherwise: str = "recipients.csv") -> str:
    """Turn the user's file name, which errors show, into one that every file system accepts."""
    name = clean(given.replace("\\", "/").rpartition("/")[2], FILE_NAME_MAX)
    name = (
        name.replace("\n", " ")
        .replace("\r", " ")
        .encode()[:FILE_NAME_BYTES_MAX]
        .decode(errors="ignore")
    )
    return name if name.strip(". ") else otherwise


class UploadRoom:
    """Bounds the bytes of all files that are on the disk at the same time, until they are imported.
    One tenant may have half of them."""

    def __init__(self, most: int = UPLOADS_BYTES_MAX) -> None:
        self._most = most
        self.taken: Counter[str] = Counter()

    def take(self, tenant: str, size: int) -> None:
        """Count bytes that have come. Crowded if other files leave no room for them."""
        if self.taken[tenant] + size > self._most // 2:
            raise Crowded(f"other files of yours are being imported: {LATER}")
        if self.taken.total() + size > self._most:
            raise Crowded(f"files of others are being imported: {LATER}")
        self.taken[tenant] += size

    def free(self, tenant: str, size: int) -> None:
        """Give back what a file had."""
        self.taken[tenant] -= size
        if not self.taken[tenant]:
            del self.taken[tenant]


@asynccontextmanager
async def uploaded(request: Request, name: str) -> AsyncIterator[Path]:
    """The body of a request as a file of that name, until the block ends."""
    room, tenant, size = request.context.uploads, request.tenant, 0
    with _full_disk_named():
        folder = TemporaryDirectory(prefix=FOLDER)
    with folder, _locked(folder.name, fcntl.LOCK_EX):
        path = Path(folder.name) / name
        try:
            with _full_disk_named(), path.open("wb") as file:
                async for chunk in _within_limit(request):
                    room.take(tenant, len(chunk))
                    size += len(chunk)
                    file.write(chunk)
            yield path
        finally:
            room.free(tenant, size)


def sweep_uploads(now_ms: int) -> None:
    """Delete files that servers had when they were killed: they are somebody's recipients."""
    for folder in Path(gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError), _locked(str(folder), fcntl.LOCK_EX | fcntl.LOCK_NB) as number:
            about = os.fstat(number)
            if about.st_uid == os.getuid() and about.st_mtime * 1000 < now_ms - YOUNG_MS:
                shutil.rmtree(folder)


@contextmanager
def _locked(folder: str, how: int) -> Iterator[int]:
    """Hold the lock of a folder, which goes with its process."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(number, how)
        yield number
    finally:
        os.close(number)


@contextmanager
def _full_disk_named() -> Iterator[None]:
    """Say whose disk is full: not the road's, and nothing of the file is in the road."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise DiskFull(
            f"no space left in {gettempdir()} for the file: free some, or set TMPDIR for the "
            "server; nothing of it was stored"
        ) from None


async def _within_limit(request: Request) -> AsyncIterator[bytes]:
    too_large = BodyTooLarge(f"the file has more than {UPLOAD_BYTES_MAX} bytes: send it in parts")
    if (request.content_length or 0) > UPLOAD_BYTES_MAX:
        raise too_large
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > UPLOAD_BYTES_MAX:
            raise too_large
        yield chunk
