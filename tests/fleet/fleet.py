"""A ledger process and the worker processes beside it, which come and go."""

import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tests.crash.book import Book
from tests.crash.ledger_process import BOOK, SOCKET
from tests.crash.orders import Parcel
from tests.crash.stand import Late
from tests.fleet.words import BRISK, Line, Mail, Work

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0
POLL_S = 0.05


class Fleet:
    """Owns its processes; all of them end with it."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.folder = Path(tempfile.mkdtemp(prefix="postroad-fleet-"))
        self.lines: list[Line] = []
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        """Those that should be alive."""
        self._rest = b""
        self._numbers = count()
        self._errors = (self.folder / "stderr").open("ab")
        self._ledger = self._start("tests.crash.ledger_process", pipes=True)
        self._others: list[subprocess.Popen[bytes]] = []
        self._own: socket.socket | None = None

    def __enter__(self) -> Self:
        self.wait(lambda: bool(self.lines), "the ledger opens")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in (*self.workers.values(), *self._others):
            process.kill()
            process.wait(PATIENCE_S)
        if self._own is not None:
            self._own.close()
        if self._ledger.stdin and self._ledger.stdout:
            self._ledger.stdin.close()
            self._ledger.wait(PATIENCE_S)
            self._ledger.stdout.close()
        self._errors.close()
        if error is None:
            shutil.rmtree(self.folder)
        else:
            error.add_note(f"see {self.folder}; stderr: …{self.stderr()[-2_000:]}")

    def _start(self, *command: str, pipes: bool = False) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            (sys.executable, "-m", *command),
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": f"{os.environ.get('FLEETSHIM', '')}{ROOT / 'src'}:{ROOT}"},
            stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipes else subprocess.DEVNULL,
            stderr=self._errors,
            bufsize=0,
        )

    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    # Processes

    def work(self, dsn: str = "", order: Work | None = None) -> str:
        """Start a worker; answers its name."""
        name = f"w{next(self._numbers)}"
        order = msgspec.structs.replace(order or Work("", "", BRISK), name=name, dsn=dsn or self.dsn)
        self.workers[name] = self._role("work", name, order)
        return name

    def crew(self, size: int, dsn: str = "", order: Work | None = None) -> list[str]:
        """Start several, and wait until all are at work."""
        names = [self.work(dsn, order) for _ in range(size)]
        self.wait(lambda: set(names) <= self.present(), f"{size} workers are here")
        return names

    def present(self) -> set[str]:
        """Workers that have said that they are here."""
        return {line.worker for line in self.lines if line.word == "here"}

    def mail(self, parcels: Iterable[Parcel], order: Mail | None = None) -> str:
        """Start a sender; answers its name. It ends by itself, and says "sent"."""
        name = f"s{next(self._numbers)}"
        order = order or Mail("", "")
        order = msgspec.structs.replace(
            order, name=name, dsn=order.dsn or self.dsn, parcels=list(parcels)
        )
        self._others.append(self._role("mail", name, order))
        return name

    def send(self, parcels: Iterable[Parcel], order: Mail | None = None) -> None:
        """Send, and wait until all are accepted."""
        self.wait_sent(self.mail(parcels, order))

    def wait_sent(self, name: str, seconds: float = PATIENCE_S) -> None:
        self.wait(
            lambda: any(line.word == "sent" and line.worker == name for line in self.lines),
            f"{name} has sent all",
            seconds,
        )

    def _role(self, role: str, name: str, order: Work | Mail) -> "subprocess.Popen[bytes]":
        path = self.folder / f"{name}.json"
        path.write_bytes(msgspec.json.encode(order))
        return self._start("tests.fleet.worker_process", role, str(path))

    def kill(self, name: str) -> None:
        """kill -9; the ledger notes it when the process is gone."""
        process = self.workers.pop(name)
        process.kill()
        code = process.wait(PATIENCE_S)
        if code != -signal.SIGKILL:
            raise AssertionError(f"{name} ended by itself, {code}: {self.stderr()[-2_000:]}")
        self._tell(Line("killed", worker=name))

    def stop(self, name: str, seconds: float = PATIENCE_S) -> float:
        """SIGTERM; answers how long the end took."""
        process = self.workers.pop(name)
        start_s = time.monotonic()
        process.terminate()
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        if code != 0:
            raise AssertionError(f"{name}: exit code {code}: {self.stderr()[-2_000:]}")
        return time.monotonic() - start_s

    def check_alive(self) -> None:
        """No worker has ended by itself."""
        for name, process in self.workers.items():
            if process.poll() is not None:
                raise AssertionError(
                    f"{name} ended by itself, {process.returncode}: {self.stderr()[-2_000:]}"
                )

    # The ledger

    @property
    def book(self) -> Book:
        return Book(self.lines)

    def fsynced_lines(self) -> list[Line]:
        """The ledger as its file has it."""
        lines = (self.folder / BOOK).read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Line) for line in lines]

    def said(self, word: str, worker: str = "") -> list[Line]:
        return [
            line for line in self.lines if line.word == word and (not worker or line.worker == worker)
        ]

    def wait(self, until: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
        """Read what the ledger writes until a condition holds, which may be about other things
        too: it is looked at every so often."""
        until_s = time.monotonic() + seconds
        while not until():
            if time.monotonic() > until_s:
                raise Late(f"{what}: not in {seconds} s")
            self.check_alive()
            self.rest(POLL_S)

    def rest(self, seconds: float) -> None:
        """Let time pass."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            self._hear(left_s)

    def _hear(self, seconds: float) -> None:
        out = self._ledger.stdout
        if out is None:
            raise RuntimeError("the ledger has no stdout")
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            if not selector.select(seconds):
                return
        data = os.read(out.fileno(), 1 << 16)
        if not data:
            raise Late("the ledger has ended")
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.lines += [msgspec.json.decode(line, type=Line) for line in lines]

    def _tell(self, line: Line) -> None:
        if self._own is None:
            self._own = socket.socket(socket.AF_UNIX)
            self._own.connect(str(self.folder / SOCKET))
        self._own.sendall(line.line())
        self._own.recv(1)
