"""A ledger process and the worker processes beside it, which come and go."""

import asyncio
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tests.crash.ledger_process import BOOK, SOCKET
from tests.crash.orders import Parcel
from tests.crash.stand import Late
from tests.fleet.words import BRISK, Line, Mail, Work
from tests.fleet.worker_process import send_all

ROOT = Path(__file__).parents[2]
PATIENCE_S = 90.0
POLL_S = 0.05


class Source:
    """A process whose lines are read as they come."""

    def __init__(self, module: str, folder: Path, errors: int) -> None:
        self._process = subprocess.Popen(
            (sys.executable, "-m", module),
            cwd=folder,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
        )
        self._rest = b""

    def fileno(self) -> int:
        """Where its lines come from."""
        if self._process.stdout is None:
            raise RuntimeError("the process has no stdout")
        return self._process.stdout.fileno()

    def lines(self) -> list[bytes]:
        """Those that have come."""
        data = os.read(self.fileno(), 1 << 16)
        if not data:
            raise Late(f"{self._process.args!r} has ended")
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines

    def tell(self, line: str) -> None:
        if self._process.stdin is None:
            raise RuntimeError("the process has no stdin")
        self._process.stdin.write(line.encode() + b"\n")

    def close(self) -> None:
        if self._process.stdin and self._process.stdout:
            self._process.stdin.close()
            self._process.wait(PATIENCE_S)
            self._process.stdout.close()


class Fleet:
    """Owns its processes; all of them end with it."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.folder = Path(tempfile.mkdtemp(prefix="postroad-fleet-"))
        self.lines: list[Line] = []
        self.workers: set[str] = set()
        """Those that should be alive."""
        self._pids: dict[str, int] = {}
        self._codes: dict[str, int] = {}
        self._numbers = count()
        self._errors = (self.folder / "stderr").open("ab")
        errors = self._errors.fileno()
        self._ledger = Source("tests.crash.ledger_process", self.folder, errors)
        self._nursery = Source("tests.fleet.worker_process", self.folder, errors)
        self._own: socket.socket | None = None
        self._owed = 0

    def __enter__(self) -> Self:
        self.wait(lambda: bool(self.lines), "the ledger opens")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name in self._pids.keys() - self._codes.keys():
            with suppress(ProcessLookupError):  # it has ended, and nobody has asked how
                os.kill(self._pids[name], signal.SIGKILL)
        if self._own is not None:
            self._own.close()
        for source in (self._nursery, self._ledger):
            source.close()
        self._errors.close()
        if error is None:
            shutil.rmtree(self.folder)
        else:
            error.add_note(f"see {self.folder}; stderr: …{self.stderr()[-2_000:]}")

    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    # Processes

    def work(self, dsn: str = "", order: Work | None = None) -> str:
        """Start a worker; answers its name."""
        name = f"w{next(self._numbers)}"
        order = msgspec.structs.replace(
            order or Work("", "", BRISK), name=name, dsn=dsn or self.dsn
        )
        self.workers.add(name)
        self._bear("work", name, order)
        return name

    def crew(self, size: int, dsn: str = "", order: Work | None = None) -> list[str]:
        """Start several, and wait until all are at work."""
        names = [self.work(dsn, order) for _ in range(size)]
        self.wait(lambda: set(names) <= self.present(), f"{size} workers are here")
        return names

    def wait_at_work(self, name: str, seconds: float) -> None:
        """Wait until a worker has got something to do."""
        self.wait(lambda: bool(self.said("start", name)), f"{name} gets work", seconds)

    def present(self) -> set[str]:
        """Workers that have said that they are here."""
        return {line.worker for line in self.lines if line.word == "here"}

    def mail(self, parcels: Iterable[Parcel], order: Mail | None = None) -> str:
        """Start a sender in a process of its own; answers its name. It ends by itself."""
        name = f"s{next(self._numbers)}"
        self._bear("mail", name, self._order(order, name, parcels))
        return name

    def wait_sent(self, name: str, seconds: float = PATIENCE_S) -> None:
        """Wait until a sender has got all its receipts."""
        self.wait(lambda: bool(self.said("sent", name)), f"{name} has sent all", seconds)

    def send(self, parcels: Iterable[Parcel], order: Mail | None = None) -> None:
        """Send from this process; returns when all are accepted."""
        order = self._order(order, "here", parcels)
        if order.rest_ms == 0 and order.batch == Mail("", "").batch:
            order = msgspec.structs.replace(order, batch=1_000)
        asyncio.run(send_all(order, self._tell_all))

    def _order(self, order: Mail | None, name: str, parcels: Iterable[Parcel]) -> Mail:
        order = order or Mail("", "")
        dsn = order.dsn or self.dsn
        return msgspec.structs.replace(order, name=name, dsn=dsn, parcels=list(parcels))

    def _bear(self, role: str, name: str, order: Work | Mail) -> None:
        path = self.folder / f"{name}.json"
        path.write_bytes(msgspec.json.encode(order))
        self._nursery.tell(f"{role} {path}")
        self.wait(lambda: name in self._pids, f"{name} is born")

    def kill(self, name: str) -> None:
        """Kill -9; the ledger notes it when the process is gone."""
        self.workers.remove(name)
        os.kill(self._pids[name], signal.SIGKILL)
        self._wait_end(name, -signal.SIGKILL, PATIENCE_S)
        self._tell_all([Line("killed", worker=name)])

    def stop(self, name: str, seconds: float = PATIENCE_S) -> float:
        """SIGTERM; answers how long the end took. One that still loads would end by the signal."""
        self.wait(lambda: name in self.present(), f"{name} is here")
        self.workers.remove(name)
        start_s = time.monotonic()
        os.kill(self._pids[name], signal.SIGTERM)
        self._wait_end(name, 0, seconds)
        return time.monotonic() - start_s

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The workers stand still; they may be killed meanwhile."""
        names = set(self.workers)
        for name in names:
            os.kill(self._pids[name], signal.SIGSTOP)
        try:
            yield
        finally:
            for name in names & self.workers:
                os.kill(self._pids[name], signal.SIGCONT)

    def _wait_end(self, name: str, code: int, seconds: float) -> None:
        self.wait(lambda: name in self._codes, f"{name} ends", seconds)
        if self._codes[name] != code:
            raise AssertionError(f"{name} ended with {self._codes[name]}: {self.stderr()[-2_000:]}")

    # The ledger

    def fsynced_lines(self) -> list[Line]:
        """The ledger as its file has it."""
        lines = (self.folder / BOOK).read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Line) for line in lines]

    def said(self, word: str, worker: str = "") -> list[Line]:
        return [
            line
            for line in self.lines
            if line.word == word and (not worker or line.worker == worker)
        ]

    def wait(self, until: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
        """Read what the processes write until a condition holds, which may be about other things
        too: it is looked at every so often."""
        until_s = time.monotonic() + seconds
        while not until():
            if time.monotonic() > until_s:
                raise Late(f"{what}: not in {seconds} s")
            for name in self.workers & self._codes.keys():
                raise AssertionError(f"{name} ended by itself: {self.stderr()[-2_000:]}")
            self.rest(POLL_S)

    def rest(self, seconds: float) -> None:
        """Let time pass."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            self._hear(left_s)

    def _hear(self, seconds: float) -> None:
        """Take in what has come, or comes within some time."""
        with selectors.DefaultSelector() as selector:
            for one in (self._ledger, self._nursery, self._own):
                if one is not None:
                    selector.register(one, selectors.EVENT_READ)
            for key, _ in selector.select(seconds):
                if key.fileobj is self._ledger:
                    lines = self._ledger.lines()
                    self.lines += [msgspec.json.decode(line, type=Line) for line in lines]
                elif key.fileobj is self._nursery:
                    self._note(self._nursery.lines())
                elif self._own is not None:
                    self._owed -= len(self._own.recv(1 << 16))

    def _note(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            name, word, value = line.decode().split()
            (self._pids if word == "born" else self._codes)[name] = int(value)

    def _tell_all(self, lines: Sequence[Line]) -> None:
        """In this process's name; returns when they are on the disk."""
        if self._own is None:
            self._own = socket.socket(socket.AF_UNIX)
            self._own.connect(str(self.folder / SOCKET))
        for start in range(0, len(lines), 100):
            part = lines[start : start + 100]
            self._owed += len(part)
            self._own.sendall(b"".join(line.line() for line in part))
            while self._owed:
                self._hear(POLL_S)  # what the ledger says meanwhile must not fill its pipe
