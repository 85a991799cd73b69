"""Processes of two releases on one road: workers, an API, and senders of every kind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

import postroad
from tests.deploy.started import REACH, answers
from tests.servers import free_port
from tests.servers.receiver import Receiver

WAIT_S = 180.0
OURS = Path(postroad.__file__).parent
PROCESS = Path(__file__).with_name("crew_process.py")
ERROR = re.compile(r"^.*\blevel=(?:error|critical)\b.*$", re.MULTILINE)


class Member(Struct, frozen=True, eq=False):
    """One process. What it prints is in one file, what it logs in another."""

    process: "subprocess.Popen[bytes]"
    out: Path
    err: Path

    def said(self) -> list[str]:
        """Whole lines that it has printed."""
        return self.out.read_text().rpartition("\n")[0].splitlines()

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def errors(self) -> list[str]:
        """What it logged as one, and its last words if it ended otherwise than by our order."""
        log = self.err.read_text()
        ended = [f"{self.process.returncode}: {log[-2000:]}"] if self.process.returncode else []
        return [*ERROR.findall(log), *ended]


class Crew:
    """Starts and stops them."""

    def __init__(self, folder: Path, dsn: str, receiver: Receiver) -> None:
        self._folder = folder
        self._dsn = dsn
        self._receiver = receiver
        self._book = folder / "book"
        self._book.touch()
        self._members: list[Member] = []
        made = command(None, "token", "make", "crew", "--everywhere", "--json", "--dsn", dsn)
        keys = command(None, "keys", "new", "k1").stdout.strip()
        self._given = {"TOKEN": json.loads(made.stdout)["secret"], "POSTROAD_KEYS": keys}

    def start(self, role: str, release: Path | None, url: str = "") -> Member:
        """Start a process that works or sends; it has begun when this returns."""
        words = (str(PROCESS), role, self._dsn, str(self._book), *([url] if url else []))
        made = self._start(release, *words)
        until(lambda: bool(made.said()) or made.has_ended, "it says something")
        return made

    def start_api(self, release: Path | None) -> tuple[Member, str]:
        """Start an API; answers with its address too."""
        port = free_port()
        listen = ("--listen", f"127.0.0.1:{port}", "--dsn", self._dsn)
        made = self._start(release, "-m", "postroad", "api", *listen)
        until(lambda: answers(port, "/readyz") == 200 or made.has_ended, "the API answers")
        return made, f"http://127.0.0.1:{port}"

    def _start(self, release: Path | None, *words: str) -> Member:
        place = self._folder / str(len(self._members))
        out, err = place.with_suffix(".out"), place.with_suffix(".err")
        environ = {**_environ(release), **self._given}
        with out.open("w") as told, err.open("w") as logged:
            process = subprocess.Popen(
                (sys.executable, *words), env=environ, stdout=told, stderr=logged, cwd=self._folder
            )
        made = Member(process, out, err)
        self._members.append(made)
        return made

    def delivered(self) -> list[str]:
        """All that workers wrote down and the receiver got, in no order."""
        book = self._book.read_text().rpartition("\n")[0].splitlines()
        return [*book, *(json.loads(body) for body in self._receiver.got)]

    def stop(self, *members: Member) -> None:
        for member in members:
            member.process.send_signal(signal.SIGTERM)
        for member in members:
            _ = member.process.wait(WAIT_S)

    def errors(self) -> list[str]:
        return [line for member in self._members for line in member.errors()]

    def close(self) -> None:
        for member in self._members:
            if not member.has_ended:
                member.process.kill()
                _ = member.process.wait()


@contextmanager
def crew_at(folder: Path, dsn: str) -> Iterator[tuple[Crew, Receiver]]:
    """Processes that end with the block, and whom webhooks go to."""
    with Receiver() as receiver:
        made = Crew(folder, dsn, receiver)
        try:
            yield made, receiver
        finally:
            made.close()


def command(release: Path | None, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of a release; None is ours."""
    program = (sys.executable, "-m", "postroad", *words)
    return subprocess.run(
        program, env=_environ(release), capture_output=True, text=True, check=False
    )


def _environ(release: Path | None) -> dict[str, str]:
    # A script has its own folder before PYTHONPATH: nothing there is called as a module of ours.
    return {**os.environ, **REACH, "PYTHONPATH": str(release or OURS.parent)}


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    end_s = time.monotonic() + WAIT_S
    while not true():
        if time.monotonic() > end_s:
            raise AssertionError(f"in vain: {what}")
        time.sleep(0.05)
