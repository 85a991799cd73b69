"""A server whose loop is stuck leaves its stack and ends; one that is only held goes on."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from postroad.model.errors import NoOwner
from postroad.observe import watchdog, watcher
from postroad.stores.window_socket import connect, peer_of
from tests.cli.running import WAIT_S, data, door, start

STUCK_S = 2.0
"""Longer than a busy machine holds a process up."""
PROGRAM = """
import asyncio, ctypes, re, time
from pathlib import Path
from postroad import Postroad

road = Postroad()

@road.handler("good")
async def good(message):
    with open("good.txt", "a") as file:
        file.write(f"{message.id}\\n")

@road.handler("stuck")
async def stuck(message):
    open("begun", "w").close()
    hang(message.body["how"])

def hang(how):
    if how == "holding the interpreter's lock":
        ctypes.PyDLL(None).sleep(60)
    elif how == "in a pattern":
        re.match("(a*)*$", "a" * 40 + "b")
    elif how == "in a loop":
        while True: pass
    elif how == "in a call":
        time.sleep(60)
    elif how == "in a debugger":
        breakpoint()
"""


@pytest.fixture
def worker(folder: Path) -> "Callable[[], subprocess.Popen[str]]":
    (folder / "tasks.py").write_text(PROGRAM)
    (folder / "road").mkdir()

    def begin() -> "subprocess.Popen[str]":
        process = start(
            folder, "worker", "--app", "tasks:road", "--dsn", "sqlite:///road/road.db",
            "--set", f"watchdog_s={STUCK_S}",
        )  # fmt: skip
        wait(lambda: owns(process, folder), "open")
        return process

    return begin


def owns(process: "subprocess.Popen[str]", folder: Path) -> bool:
    """Whether the road is its own by now; its loop may be stuck already."""
    with suppress(NoOwner), connect(f"sqlite:///{folder}/road/road.db", 1.0) as line:
        return peer_of(line).pid == process.pid
    return False


@contextmanager
def ended(process: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=WAIT_S)


def wait(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < until, f"never: {what}"
        time.sleep(0.02)


def send(queue: str, how: str = "") -> str:
    body = f'{{"how": "{how}"}}'
    # The answer comes first: a loop that is stuck at once gives none.
    late = ("--delay", "1s") if how else ()
    sent = data("send", queue, body, *late, "--dsn", "sqlite:///road/road.db")
    return str(sent["id"])


@pytest.mark.parametrize(
    "how",
    [
        "holding the interpreter's lock",
        pytest.param("in a pattern", marks=pytest.mark.wide),
        pytest.param("in a loop", marks=pytest.mark.wide),
        "in a call",
    ],
)
def test_a_server_with_a_stuck_loop_leaves_its_stack_and_ends(
    how: str, worker: "Callable[[], subprocess.Popen[str]]"
) -> None:
    with ended(worker()) as process:
        send("stuck", how)
        _, said = process.communicate(timeout=WAIT_S)
    assert process.returncode == -signal.SIGKILL
    assert "the event loop is stuck: this process is ended" in said
    assert 'tasks.py", line' in said
    assert "in hang" in said


def stopped_for_long(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGSTOP)
    time.sleep(3 * STUCK_S)  # real time passes for the watcher, or nothing is shown
    process.send_signal(signal.SIGCONT)


@pytest.mark.wide
def test_a_server_that_is_stopped_for_a_while_goes_on(
    worker: "Callable[[], subprocess.Popen[str]]", folder: Path
) -> None:
    with ended(worker()) as process:
        stopped_for_long(process)
        sent = send("good")
        wait(lambda: sent in read(folder / "good.txt"), "delivered")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert "this process is ended" not in said


@pytest.mark.wide
def test_without_the_look_at_its_state_a_stopped_server_would_be_ended(tmp_path: Path) -> None:
    careless = tmp_path / "watcher.py"
    source = watchdog.WATCHER.read_text()
    look = "if late or held(pid):"
    assert look in source
    careless.write_text(source.replace(look, "if late:"))
    with ended(beating(watchdog.WATCHER)) as process:
        stopped_for_long(process)
        process.communicate("end\n", timeout=WAIT_S)
    assert process.returncode == 0
    with ended(beating(careless)) as process:
        process.send_signal(signal.SIGSTOP)
        assert process.wait(WAIT_S) == -signal.SIGKILL  # by the watcher, whenever it runs


BEATING = """
import asyncio, sys
from pathlib import Path
from postroad.observe.log import make_log
from postroad.observe.watchdog import end_when_stuck

async def main():
    with end_when_stuck(float(sys.argv[1]), make_log(), "text", Path(sys.argv[2])):
        print("here", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


def beating(watcher: Path) -> "subprocess.Popen[str]":
    """A process that does nothing but beat, until it is told to end."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        (sys.executable, "-c", BEATING, str(STUCK_S), str(watcher)),
        stdin=pipe, stdout=pipe, stderr=pipe, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@pytest.mark.wide
def test_a_server_in_a_debugger_goes_on(folder: Path) -> None:
    (folder / "tasks.py").write_text(PROGRAM)
    (folder / "road").mkdir()
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        (sys.executable, "-c", "from postroad.cli.main import main; main()", "worker",
         "--app", "tasks:road", "--dsn", "sqlite:///road/road.db", "--set", f"watchdog_s={STUCK_S}"),
        cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    with ended(process):
        door(process, folder)
        send("stuck", "in a debugger")
        wait((folder / "begun").exists, "begun")
        time.sleep(2 * STUCK_S)
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.write("c\n")
        process.stdin.flush()
        sent = send("good")
        wait(lambda: sent in read(folder / "good.txt"), "delivered")
        assert process.poll() is None


@pytest.mark.wide
def test_a_message_that_hangs_the_loop_is_dead_after_its_third_start(
    worker: "Callable[[], subprocess.Popen[str]]", folder: Path
) -> None:
    with ended(worker()) as process:
        poison = send("stuck", "in a call")  # a loop would cost the CPU that others need
        process.wait(WAIT_S)
    good = send("good")  # while nobody runs: a stuck server takes nothing
    ends = 1
    while state(poison) != "dead":
        assert ends < 6
        with ended(worker()) as process:
            wait(lambda: process.poll() is not None or state(poison) == "dead", "an end")
            ends += process.poll() is not None
    with ended(worker()) as process:
        wait(lambda: good in read(folder / "good.txt"), "its neighbour is delivered")
    shown = data("message", "show", poison, "--dsn", "sqlite:///road/road.db")
    assert shown["reason"] == "crash_loop"
    assert ends >= 3


def state(message: str) -> str:
    """What is known of it; empty while nobody can be asked."""
    try:
        return str(data("message", "show", message, "--dsn", "sqlite:///road/road.db")["state"])
    except AssertionError:
        return ""


def test_stacks_that_are_being_written_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = iter(["File one", "File one\nFile two", "File one\nFile two"])
    told: list[str] = []

    def left(_code: int) -> None:
        raise SystemExit

    monkeypatch.setattr(watcher, "held", lambda _pid: False)
    monkeypatch.setattr(watcher, "read_stack", lambda _dump: next(reads))
    monkeypatch.setattr(watcher, "report", lambda *said: told.append(said[2]))
    monkeypatch.setattr(watcher, "end", lambda _pid: None)
    monkeypatch.setattr(os, "_exit", left)
    monkeypatch.setattr(select, "select", lambda *_: ([], [], []))
    with pytest.raises(SystemExit):
        watcher.watch(os.getppid(), STUCK_S, 0, "text")
    assert told == ["File one\nFile two"]
