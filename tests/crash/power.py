"""Power loss: images of the disk as it may be found, from a recording of its writes and syncs.

What was synced is there. Of what was not, each write is whole, missing, cut or garbage, and a later
one may have survived an earlier one.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct, field

from tests.crash.disk_process import RECORDING, Op
from tests.crash.stand import PATIENCE_S, ROOT
from tests.crash.states import Found

SECTOR = 512
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


class Report(Struct):
    """What the images showed."""

    images: int = 0
    dirty: int = 0
    """Images with writes that were not synced: the others are plain ends."""
    receipts: int = 0
    """Receipts that were held against an image, over all images."""
    breaches: list[str] = field(default_factory=list)


class Promises(Struct, frozen=True):
    """What was answered before the power went."""

    receipts: set[str] = field(default_factory=set)
    starts: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)


class Disk:
    """Files as they are for certain, and the writes that may or may not be there."""

    def __init__(self) -> None:
        self._made = Promises()
        self._synced: dict[str, bytearray] = {}
        self._unsynced: list[Op] = []

    @property
    def dirty(self) -> bool:
        return bool(self._unsynced)

    def take(self, op: Op) -> None:
        match op.kind:
            case "receipt":
                self._made.receipts.add(op.name)
            case "start":
                self._made.starts.add(op.name)
            case "cancelled":
                self._made.cancelled.add(op.name)
            case "delete":
                self._synced.pop(op.name, None)
                self._unsynced = [one for one in self._unsynced if one.name != op.name]
            case "sync":
                for one in self._unsynced:
                    if one.name == op.name:
                        change(self._synced, one)
                self._unsynced = [one for one in self._unsynced if one.name != op.name]
            case "write" | "truncate":
                self._unsynced.append(op)

    def promises(self) -> Promises:
        """Those made so far."""
        made = self._made
        return Promises(set(made.receipts), set(made.starts), set(made.cancelled))

    def image(self, folder: Path, dice: random.Random) -> None:
        """The files as they may be found after the power went."""
        files = {name: bytearray(data) for name, data in self._synced.items()}
        for op in self._unsynced:
            for survivor in survivors(op, dice):
                change(files, survivor)
        for name, data in files.items():
            (folder / name).write_bytes(data)


def change(files: dict[str, bytearray], op: Op) -> None:
    file = files.setdefault(op.name, bytearray())
    if op.kind == "truncate":
        del file[op.offset :]
        return
    file.extend(bytes(max(0, op.offset - len(file))))
    file[op.offset : op.offset + len(op.data)] = op.data


def survivors(op: Op, dice: random.Random) -> list[Op]:
    """What is left of a write that was not synced."""
    fate = dice.choice(("whole", "whole", "missing", "cut", "garbage"))
    if fate == "missing":
        return []
    if fate == "whole" or op.kind == "truncate":
        return [op]
    # A disk writes sectors, at their own borders.
    edge = min(len(op.data), dice.randrange(0, len(op.data) + SECTOR, SECTOR) - op.offset % SECTOR)
    edge = max(0, edge)
    rest = dice.randbytes(len(op.data) - edge) if fate == "garbage" else b""
    return [Op("write", op.name, op.offset, op.data[:edge] + rest)]


def power_cuts(images: int, seconds: float, seed: int = 0) -> Report:
    """Cut the power at so many random moments, or until the time is over; check what is found."""
    until_s = time.monotonic() + seconds
    report = Report()
    dice = random.Random(seed)
    while report.images < images and time.monotonic() < until_s:
        _cut_one_recording(min(60, images - report.images), report, dice)
    return report


def _cut_one_recording(images: int, report: Report, dice: random.Random) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        _process(str(folder), str(dice.randrange(1 << 30)))
        ops = msgspec.msgpack.decode((folder / RECORDING).read_bytes(), type=list[Op])
        moments = set(dice.sample(range(len(ops)), images))
        disk = Disk()
        cuts: list[tuple[Path, Promises]] = []
        for moment, op in enumerate(ops):
            disk.take(op)
            if moment in moments:
                path = folder / f"image-{moment}"
                path.mkdir()
                disk.image(path, dice)
                cuts.append((path, disk.promises()))
                report.dirty += disk.dirty
        asked = "\n".join(str(path / "road.db") for path, _ in cuts)
        found = msgspec.json.decode(_process("--open", say=asked), type=list[Found])
        for (path, promises), one in zip(cuts, found, strict=True):
            _check(path.name, one, promises, report)


def _process(*arguments: str, say: str = "") -> bytes:
    done = subprocess.run(
        (sys.executable, "-m", "tests.crash.disk_process", *arguments),
        input=say.encode(),
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=True,
    )
    return done.stdout


def _check(image: str, found: Found, promises: Promises, report: Report) -> None:
    report.images += 1
    report.receipts += len(promises.receipts)
    breaches = [] if found.integrity == "ok" else [found.integrity]
    breaches += [f"{name} is in two tables" for name in found.twice]
    breaches += [
        f"{name} was accepted and is gone" for name in promises.receipts - found.messages.keys()
    ]
    for name in promises.starts & found.messages.keys():
        message = found.messages[name]
        if message.state == "waiting" and not message.marks:
            breaches.append(f"{name} may start once, has, and would start again")
    for name in promises.cancelled & found.messages.keys():
        if found.messages[name].state == "waiting":
            breaches.append(f"{name} was cancelled, and would start")
    report.breaches += [f"{image}: {breach}" for breach in breaches]
