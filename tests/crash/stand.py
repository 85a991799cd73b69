"""A folder with a road's file, a ledger process beside it, and engines that come and go."""

import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tests.crash.book import Book, Entry
from tests.crash.ledger_process import BOOK
from tests.crash.orders import Order
from tests.crash.states import Found, look_into

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
LAST_WORDS_S = 15.0


class Late(AssertionError):
    """Something did not happen in time."""


class Stand:
    """Owns the processes; all of them end with it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="postroad-crash-"))
        self.entries: list[Entry] = []
        self._rest = b""
        self._errors = (self.folder / "stderr").open("ab")
        self._ledger = self._start("tests.crash.ledger_process")
        self._nursery = self._start("tests.crash.engine_process")
        self._guests: list[subprocess.Popen[bytes]] = []
        self._engine = -1
        """A pidfd of the engine that lives now: its pid may belong to somebody else any moment."""

    def __enter__(self) -> Self:
        self.wait(lambda: bool(self.entries), "the ledger opens")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._engine >= 0:
            self.kill()
        for guest in self._guests:
            guest.kill()
        for process in (*self._guests, self._nursery, self._ledger):
            if process.stdin and process.stdout:
                process.stdin.close()
                process.wait(PATIENCE_S)
                process.stdout.close()
        self._errors.close()
        if error is None:
            shutil.rmtree(self.folder)
        else:
            error.add_note(f"see {self.folder}")

    def _start(self, *command: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            (sys.executable, "-m", *command),
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )

    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    # Engines

    def live(self, order: Order) -> None:
        """Start an engine on the road's file."""
        if self._nursery.stdin is None:
            raise RuntimeError("the nursery has no stdin")
        self._nursery.stdin.write(msgspec.json.encode(order) + b"\n")
        self._nursery.stdin.flush()
        self._engine = os.pidfd_open(self._hear_number())

    def kill(self) -> int:
        """SIGKILL, now; answers how it ended, which may have been by itself."""
        return self._signal(signal.SIGKILL)

    def end(self) -> int:
        """SIGTERM; answers the exit code."""
        return self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> int:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._engine, number)
        return self.ended()

    def ended(self) -> int:
        """Wait for the engine's end, and for the ledger to have all that it said."""
        code = self._hear_number()
        os.close(self._engine)
        self._engine = -1
        self.wait(lambda: self.entries[-1].word == "gone", "the ledger sees the engine's end")
        return code

    def _hear_number(self) -> int:
        heard = b""
        until_s = time.monotonic() + PATIENCE_S
        while not heard.endswith(b"\n"):
            ready = _readable(until_s, self._nursery, self._ledger)
            if not ready:
                raise Late("the nursery does not answer")
            if self._ledger in ready:  # a full pipe would stop the ledger, and the engine with it
                self._hear_ledger()
            if self._nursery in ready:
                heard += _read(self._nursery, 1)
        return int(heard)

    def _hear_ledger(self) -> None:
        *lines, self._rest = (self._rest + _read(self._ledger, 1 << 16)).split(b"\n")
        self.entries += [msgspec.json.decode(line, type=Entry) for line in lines]

    def fresh(self, order: Order) -> "subprocess.Popen[bytes]":
        """An engine in an interpreter of its own, which ends as any program does."""
        path = self.folder / "order.json"
        path.write_bytes(msgspec.json.encode(order))
        process = self._start("tests.crash.engine_process", str(path))
        self._guests.append(process)
        return process

    # The ledger

    @property
    def book(self) -> Book:
        return Book(self.entries)

    def fsynced_book(self) -> Book:
        """The ledger as its file has it."""
        lines = (self.folder / BOOK).read_bytes().splitlines()
        return Book(msgspec.json.decode(line, type=Entry) for line in lines)

    def wait(self, until: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
        """Read what the ledger writes until a condition holds."""
        until_s = time.monotonic() + seconds
        while not until():
            guests = [guest for guest in self._guests if guest.returncode is None]
            ready = _readable(until_s, self._ledger, self._nursery, *guests)
            if ready and self._ledger not in ready:
                # An engine has ended. Its last words may still be on their way.
                ready = _readable(min(until_s, time.monotonic() + LAST_WORDS_S), self._ledger)
            if not ready:
                raise Late(f"{what}: not in time; stderr: …{self.stderr()[-2_000:]}")
            self._hear_ledger()

    def wait_said(self, word: str, count: int = 1) -> None:
        """Wait until the engine that lives now has said a word so often."""
        start = len(self.entries)
        self.wait(lambda: sum(e.word == word for e in self.entries[start:]) >= count, word)

    # The road's file

    def found(self) -> Found:
        """What the file holds, read from a copy: the next engine shall recover the file itself."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            for path in self.folder.glob("road.db*"):
                if path.suffix not in (".lock", ".db-shm", ".window"):
                    shutil.copy(path, folder)
            return look_into(Path(folder) / "road.db")


def _readable(
    until_s: float, *processes: "subprocess.Popen[bytes]"
) -> "list[subprocess.Popen[bytes]]":
    """Those that have said something, or ended; none when the time is over."""
    with selectors.DefaultSelector() as selector:
        for process in processes:
            if process.stdout:
                selector.register(process.stdout, selectors.EVENT_READ, process)
        ready = selector.select(max(0.0, until_s - time.monotonic()))
    return [key.data for key, _ in ready]


def _read(process: "subprocess.Popen[bytes]", count: int) -> bytes:
    data = os.read(process.stdout.fileno(), count) if process.stdout else b""
    if not data:
        raise Late(f"{process.args!r} has ended")
    return data
