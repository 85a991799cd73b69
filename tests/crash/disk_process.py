"""A road on a disk that remembers every write and every sync, in their order, between receipts.

`python -m tests.crash.disk_process FOLDER SEED` sends and delivers for a while and leaves the
recording. `python -m tests.crash.disk_process --open` opens the images that stdin names, as the
next engine would, and says what it found in each.
"""

import asyncio
import random
import sys
import threading
from pathlib import Path
from typing import Literal
from unittest.mock import patch

import apsw
import msgspec
from apsw import URIFilename
from msgspec import Struct

from postroad import Message, Postroad
from postroad.config import Settings
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite import writer
from postroad.stores.sqlite.store import SqliteStore
from tests.crash.states import Found, look_into

RECORDING = "recording"
SENDS = 150
SENDERS = 8
CANCELLED = 0.2
CHECKPOINT_PAGES = 60
"""So that the log starts over every few dozen messages."""

Name = str | URIFilename | None


class Op(Struct, frozen=True, array_like=True):
    """One thing that reached the disk, or one promise: `receipt`, `cancelled`, and `start` of a
    message that may start only once."""

    kind: Literal["write", "truncate", "sync", "delete", "receipt", "cancelled", "start"]
    name: str
    offset: int = 0
    data: bytes = b""


class Recorder(apsw.VFS):
    """The default disk of this process."""

    def __init__(self) -> None:
        super().__init__("recorder", "unix", makedefault=True)
        self.ops: list[Op] = []
        self.lock = threading.Lock()

    def note(self, op: Op) -> None:
        with self.lock:
            self.ops.append(op)

    def xOpen(self, name: Name, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802
        super().xDelete(filename, syncdir)
        self.note(Op("delete", Path(filename).name))


class RecordedFile(apsw.VFSFile):
    def __init__(self, disk: Recorder, name: Name, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        self._name = Path(name.filename() if isinstance(name, URIFilename) else name or "").name

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.note(Op("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.note(Op("truncate", self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._disk.note(Op("sync", self._name))


async def work(folder: Path, disk: Recorder, dice: random.Random) -> None:
    road = Postroad(f"sqlite:///{folder / 'road.db'}", settings=Settings(log_level="warning"))

    @road.handler("quick")
    async def quick(_message: Message[str]) -> None:
        await asyncio.sleep(0)

    @road.handler("once", at_most_once=True)
    async def once(message: Message[str]) -> None:
        disk.note(Op("start", message.id))

    async def send() -> None:
        for _ in range(SENDS // SENDERS):
            body = "x" * dice.choice((10, 500, 9_000))
            receipt = await road.send(
                dice.choice(("quick", "once")), body, delay=dice.choice((0, 60))
            )
            disk.note(Op("receipt", receipt.id))
            if dice.random() < CANCELLED:
                answer = await road.cancel(receipt.id)
                if answer.state == "cancelled":
                    disk.note(Op("cancelled", receipt.id))

    async with road:
        running = asyncio.create_task(road.run())
        await asyncio.gather(*[send() for _ in range(SENDERS)])
        road.stop()
        await running
        # The power goes before the file is closed: what comes after is not recorded.
        (folder / RECORDING).write_bytes(msgspec.msgpack.encode(disk.ops))


async def open_image(path: Path) -> Found:
    """As an engine does, and then by SQL."""
    store = SqliteStore(path, SystemClock())
    await store.open()
    await store.close()
    return look_into(path)


def main(folder: str, seed: str = "0") -> None:
    if folder == "--open":
        found = [asyncio.run(open_image(Path(line.strip()))) for line in sys.stdin]
        sys.stdout.buffer.write(msgspec.json.encode(found))
        return
    with patch.object(writer, "CHECKPOINT_PAGES", CHECKPOINT_PAGES):
        asyncio.run(work(Path(folder), Recorder(), random.Random(int(seed))))


if __name__ == "__main__":
    main(*sys.argv[1:])
