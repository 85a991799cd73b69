"""The next release: a copy of this one in which a table is changed by a migration and every function
is replaced. Its processes and ours work on one road."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

import postroad

WAIT_S = 180.0
OURS = Path(postroad.__file__).parent
COLUMN = "colour text not null default 'red'"
PROCESS = """
import asyncio, os, signal, sys
from postroad import Postroad, Steps

role, dsn, book = sys.argv[1:]
road = Postroad(dsn)

@road.handler("good", ladder=Steps(5, (200,)))
async def good(message):
    if message.attempt == 1 and message.body.endswith("7"):
        raise ValueError("the first try fails: it is written down")
    with open(book, "a") as file:
        file.write(message.body + "\\n")

async def work():
    async with road:
        print("ready", flush=True)
        await road.run()

async def send():
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with road:
        number = 0
        while not stopping.is_set():
            body = f"{os.getpid()}-{number}"
            await road.send("good", body)
            print(body, flush=True)
            number += 1
            await asyncio.sleep(0.01)

asyncio.run(work() if role == "worker" else send())
"""


def make_next(folder: Path, *, oldest: int = 100) -> Path:
    """Copy this release into a folder, and make it the next one; `oldest`: what its road still
    works with."""
    copy = folder / "postroad"
    shutil.copytree(OURS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for store, table, path in (
        ("sqlite", "token", "schema/tokens.sql"),
        ("postgres", "attempt", "schema/tables/delivery.sql"),
    ):
        place = copy / "stores" / store
        (place / "migrations" / "101_colour.sql").write_text(
            f"alter table {table} add column {COLUMN};\n"
        )
        before, mark, after = (place / path).read_text().partition(f"create table {table} (")
        (place / path).write_text(before + mark + after.replace("\n)", f",\n  {COLUMN}\n)", 1))
    for file in (copy / "stores" / "postgres" / "schema" / "functions").glob("*.sql"):
        _edit(file, "\nbegin\n", "\nbegin\n  -- the next release\n")
    migration = copy / "stores" / "postgres" / "migration.py"
    _edit(migration, "OLDEST: Final = BASELINE", f"OLDEST: Final = {oldest}")
    return folder


def _edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def command(release: Path | None, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of a release; None is ours."""
    program = (sys.executable, "-m", "postroad", *words)
    return subprocess.run(
        program, env=_environ(release), capture_output=True, text=True, check=False
    )


def _environ(release: Path | None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(release or OURS.parent)}


class Upgrade(Struct, frozen=True):
    """What became of an upgrade under load."""

    accepted: int
    missing: int
    steps: int
    errors: list[str]


class Fleet:
    """Workers and senders of two releases."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self._folder = folder
        self._dsn = dsn
        self._book = folder / "book"
        self._book.touch()
        self._started: list[subprocess.Popen[str]] = []

    def start(self, role: str, release: Path | None) -> "subprocess.Popen[str]":
        """Start a process; what it says goes into files named after its number."""
        out = (self._folder / f"{len(self._started)}.out").open("w")
        err = (self._folder / f"{len(self._started)}.err").open("w")
        words = (sys.executable, "-c", PROCESS, role, self._dsn, str(self._book))
        process = subprocess.Popen(
            words, env=_environ(release), stdout=out, stderr=err, text=True, cwd=self._folder
        )
        out.close()
        err.close()
        self._started.append(process)
        until(lambda: bool(self.said(process)) or process.poll() is not None, "it says something")
        return process

    def said(self, process: "subprocess.Popen[str]") -> list[str]:
        """Whole lines that a process has printed."""
        text = (self._folder / f"{self._started.index(process)}.out").read_text()
        return text.rpartition("\n")[0].splitlines()

    def delivered(self) -> set[str]:
        return set(self._book.read_text().rpartition("\n")[0].splitlines())

    def stop(self, *processes: "subprocess.Popen[str]") -> None:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            _ = process.wait(WAIT_S)

    def errors(self) -> list[str]:
        """What ended otherwise than by our order, with its last words."""
        found = []
        for number, process in enumerate(self._started):
            if process.returncode:
                text = (self._folder / f"{number}.err").read_text()
                found.append(f"{process.returncode}: {text[-2000:]}")
        return found

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
                _ = process.wait()


@contextmanager
def fleet(folder: Path, dsn: str) -> Iterator[Fleet]:
    """Processes that end with the block."""
    made = Fleet(folder, dsn)
    try:
        yield made
    finally:
        made.close()


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    end_s = time.monotonic() + WAIT_S
    while not true():
        if time.monotonic() > end_s:
            raise AssertionError(f"in vain: {what}")
        time.sleep(0.05)


def upgrade_under_load(folder: Path, dsn: str, each: int) -> Upgrade:
    """Migrate a road while a fleet of this release sends and delivers; then run both releases, start
    one of the older again, and end with the newer alone. `each`: how many are sent in each stage."""
    release = make_next(folder / "next")
    assert command(None, "migrate", "--dsn", dsn).returncode == 0
    with fleet(folder, dsn) as crew:
        senders = [crew.start("sender", None)]
        old = [crew.start("worker", None), crew.start("worker", None)]

        def more() -> None:
            """Every sender sends some more, and something is delivered."""
            goals = [(sender, len(crew.said(sender)) + each) for sender in senders]
            before = len(crew.delivered())
            until(
                lambda: (
                    all(len(crew.said(s)) >= n or s.poll() is not None for s, n in goals)
                    and len(crew.delivered()) > before
                ),
                "they send and deliver",
            )

        more()
        moved = command(release, "migrate", "--json", "--dsn", dsn)
        more()
        senders.append(crew.start("sender", release))
        new = crew.start("worker", release)
        more()
        crew.stop(old.pop())
        old.append(crew.start("worker", None))  # the older may be started again
        more()
        crew.stop(*old)
        more()
        crew.stop(*senders)
        sent = {line for sender in senders for line in crew.said(sender)}
        until(lambda: crew.delivered() >= sent or new.poll() is not None, "all are delivered")
        missing = len(sent - crew.delivered())
        crew.stop(new)
        errors = crew.errors() + ([moved.stderr] if moved.returncode else [])
        return Upgrade(len(sent), missing, moved.stdout.count('"version":101'), errors)
