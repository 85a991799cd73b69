"""Kill -9 of `postroad up` under HTTP load; the ledger of answers is in this, another, process."""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import apsw
from msgspec import Struct, field

from postroad.model.ids import to_number
from tests.servers.door import Door, door_of

PROGRAM = (sys.executable, "-c", "from postroad.cli.main import main; main()")
CLIENTS = 6
BATCH = 20
PATIENCE_S = 60.0
TASKS = """
from postroad import Postroad
road = Postroad()

@road.handler("good")
async def good(message): ...
"""


class Killed(Struct):
    """What the kills showed."""

    kills: int = 0
    answers: int = 0
    """Messages that were answered with 2xx."""
    cut: int = 0
    """Requests that a kill cut off."""
    breaches: list[str] = field(default_factory=list)


class Sender:
    """One connection that sends as fast as it is answered, single or in batches, and notes what
    was answered with 2xx."""

    def __init__(self, door: Door, number: int) -> None:
        self.stored: list[str] = []
        self.cut = 0
        self._door = door
        self._number = number
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        host, _, port = self._door.url.removeprefix("http://").rpartition(":")
        line = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
        with suppress(OSError, http.client.HTTPException):
            while True:
                self.cut = 1
                self._batch(line) if self._number % 3 == 0 else self._single(line)
                self.cut = 0
        line.close()

    def _ask(self, line: http.client.HTTPConnection, path: str, body: bytes) -> bytes:
        headers = {"authorization": f"Bearer {self._door.token}"}
        line.request("POST", path, body, headers)
        answer = line.getresponse()
        text = answer.read()
        return text if answer.status in (200, 201) else b""

    def _single(self, line: http.client.HTTPConnection) -> None:
        text = self._ask(line, "/v1/messages", b'{"queue": "good", "body": 1}')
        if text:
            self.stored.append(json.loads(text)["id"])

    def _batch(self, line: http.client.HTTPConnection) -> None:
        body = b'{"queue": "good", "body": 2}\n' * BATCH
        headers = {"authorization": f"Bearer {self._door.token}"}
        line.request("POST", "/v1/messages:batch", body, headers)
        answer = line.getresponse()
        # A line that arrived counts, though the rest is cut off.
        while (text := answer.readline()).endswith(b"\n"):
            said = json.loads(text)
            if said.get("status") == 201:
                self.stored.append(said["id"])


def kill_rounds(kills: int, seed: int = 0) -> Killed:
    """Kill the server so often, at random moments under load; after each, every 2xx is stored."""
    report, dice = Killed(), Random(seed)
    with tempfile.TemporaryDirectory(prefix="postroad-up-") as name:
        folder = Path(name)
        (folder / "tasks.py").write_text(TASKS)
        for _ in range(kills):
            _round(folder, report, dice)
    return report


def _round(folder: Path, report: Killed, dice: Random) -> None:
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            (*PROGRAM, "up", "--app", "tasks:road", "--listen", "127.0.0.1:0", "--dsn",
             "sqlite:///road/road.db", "--log-level", "warning"),
            cwd=folder, stdout=log, stderr=log,
        )  # fmt: skip
    door = _listening(process, folder)
    senders = [Sender(door, number) for number in range(CLIENTS)]
    wanted = dice.randrange(1, 400)
    _wait(lambda: sum(len(s.stored) for s in senders) >= wanted, process)
    time.sleep(dice.random() * 0.05)  # the moment of the kill, not a wait for something
    os.kill(process.pid, signal.SIGKILL)
    process.wait(PATIENCE_S)
    for sender in senders:
        sender.join()
    report.kills += 1
    report.cut += sum(sender.cut for sender in senders)
    stored = [number for sender in senders for number in sender.stored]
    report.answers += len(stored)
    lost = set(stored) - known(folder / "road" / "road.db", stored)
    report.breaches += [
        f"kill {report.kills}: {number} was answered and is gone" for number in lost
    ]


def known(path: Path, ids: list[str]) -> set[str]:
    """Those of these that the file has, in whatever state."""
    db = apsw.Connection(str(path))
    found = set()
    query = (
        "select 1 from message where id = ?1 union all select 1 from history where id = ?1 "
        "union all select 1 from dead where id = ?1"
    )
    for number in ids:
        if db.execute(query, (to_number(number),)).fetchall():
            found.add(number)
    db.close()
    return found


def _listening(process: "subprocess.Popen[bytes]", folder: Path) -> Door:
    found: list[Door] = []

    def there() -> bool:
        door = door_of(folder, process.pid)
        found[:] = [door] if door is not None else []
        return bool(found)

    _wait(there, process)
    return found[0]


def _wait(met: Any, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE_S
    while not met():
        if process.poll() is not None:
            raise AssertionError(f"the server ended by itself: {process.returncode}")
        if time.monotonic() > until:
            raise AssertionError("too slow")
        time.sleep(0.005)
