"""The demo, as a newcomer starts it: another process, its screen and its exit code."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

DEMO = (sys.executable, "-m", "postroad.demo")
SMALL = ("--messages", "120", "--speed", "600")
LAST_LINE = re.compile(r"demo: (\d+) accepted, (\d+) delivered, (\d+) dead, (\d+) lost")
SECONDS_MAX = 250

# A message to the server that is away: nothing of it is read ahead while its circuit is open.
# The last one, since the first one is what the probes are made with. In one statement: the server
# may come back between two.
VICTIM = """
select max(m.id) from message m join rung r on r.id = m.rung_id join lane l on l.id = r.lane_id
 where l.circuit_opened >= 2
"""
DELETE = f"delete from message where id = ({VICTIM})"


def last_line(output: str) -> tuple[int, ...]:
    line = output.rstrip("\n").splitlines()[-1]
    found = LAST_LINE.fullmatch(line)
    assert found, output
    return tuple(map(int, found.groups()))


def test_the_demo_ends_by_itself_and_loses_nothing() -> None:
    done = subprocess.run(
        (*DEMO, *SMALL), capture_output=True, text=True, check=False, timeout=SECONDS_MAX
    )
    accepted, delivered, dead, lost = last_line(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert (accepted, lost) == (120, 0)
    assert re.search(
        r"delivered in \d+ tries: \d+ after 0 failures(, \d+ after \d)*\.", done.stdout
    )
    assert delivered + dead == accepted, "nothing waits at the end"
    assert dead > 0, "the recipient that rejects fills the dead set"
    assert "away.example is away, circuit open: connection refused" in done.stdout


def test_a_row_that_vanishes_in_mid_run_is_counted_as_lost(tmp_path: Path) -> None:
    path = tmp_path / "road.db"
    command = (*DEMO, "--messages", "120", "--speed", "150", "--file", path)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        delete_one_message(path)
        output, _ = demo.communicate(timeout=SECONDS_MAX)
    accepted, delivered, dead, lost = last_line(output)
    assert (accepted, lost) == (120, 1), output
    assert delivered + dead == 119
    assert demo.returncode == 1


def delete_one_message(path: Path) -> None:
    """From another process than the one that owns the road."""
    deadline_s = time.monotonic() + SECONDS_MAX
    while not path.with_name("road.db-wal").exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    file = apsw.Connection(str(path))
    file.set_busy_timeout(60_000)
    file.execute("pragma wal_autocheckpoint = 0")  # the road's own writer does that
    while not deleted(file):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    file.close()


def deleted(file: apsw.Connection) -> bool:
    try:
        ((victim,),) = file.execute(VICTIM).fetchall()
    except apsw.SQLError:
        return False  # the schema is not there yet
    if victim is None:  # and nobody waits for a lock of ours
        return False
    file.execute(DELETE)
    return file.changes() == 1


@pytest.mark.parametrize("lines", [1, 3], ids=["at once", "in mid-run"])
def test_ctrl_c_ends_it_cleanly(tmp_path: Path, lines: int) -> None:
    command = (*DEMO, "--speed", "60", "--file", tmp_path / "road.db")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as demo:
        assert demo.stdout is not None
        for _ in range(1 + lines):
            demo.stdout.readline()
        demo.send_signal(signal.SIGINT)
        output, errors = demo.communicate(timeout=SECONDS_MAX)
    assert (demo.returncode, errors) == (0, b"")
    assert last_line(output.decode())[3] == 0


def test_on_a_terminal_it_shows_lanes_levels_and_why_things_wait() -> None:
    screen, inside = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    # Slower than the others: at × 600 a busy machine may never draw while a circuit is open.
    slower = ("--messages", "120", "--speed", "150")
    with subprocess.Popen((*DEMO, *slower), stdout=inside, env=environment) as demo:
        os.close(inside)
        shown = read_all(screen)
    assert demo.returncode == 0, shown
    for words in (
        r"deliveries a second",
        r"circuit open, probe in \d+:\d\d: connection refused",
        r"held \w+ \d+:\d\d.*: 429 Too Many Requests",
        r"Fails +waiting",
        r"slow\.example +\d+ +\d+",
        r"retries shortened to 15, 30, 60, 120 and 240 s",
    ):
        assert re.search(words, shown), f"{words}\n{shown[-8000:]}"
    assert last_line(shown.replace("\r", ""))[3] == 0


def read_all(screen: int) -> str:
    """What was shown, without colours, until the other side has closed."""
    pieces: list[bytes] = []
    try:
        while piece := os.read(screen, 65_536):
            pieces.append(piece)
    except OSError:
        pass  # Linux says so when the last one who could write is gone
    os.close(screen)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", b"".join(pieces).decode())
