"""What a supervisor does when the system has no process left, or one of its processes is silent."""

import asyncio
import io
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad.cli import supervisor
from postroad.cli.supervised import VARIABLE
from postroad.cli.supervisor import ProcessSupervisor
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock

WAIT_S = 60.0
PROGRAM = f"""
import os, socket, sys, time
from pathlib import Path
fd, number = os.environ["{VARIABLE}"].split(":")
line = socket.socket(fileno=int(fd))
line.sendall(b'{{"kind": "started"}}\\n')
while number != "0" or not Path(sys.argv[1]).exists():
    time.sleep(0.05)
if os.path.exists("forks") and not os.fork():  # the copy keeps the line open
    while Path("forks").exists():
        time.sleep(0.05)
    os._exit(0)
line.sendall(b'{{"kind": "sum"}}\\n')
sys.exit(5)
"""
COPIES = """
import os, sys, time
from postroad.cli.supervised import SupervisedProcess
above = SupervisedProcess.found()
os.system(f"(while [ -e {sys.argv[1]} ]; do sleep 0.05; done) &")  # it hands open files on
if not os.fork():
    while os.path.exists(sys.argv[1]):
        time.sleep(0.05)
    os._exit(0)
"""


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the supervisor logs; an ended process is started anew soon."""
    monkeypatch.setattr(supervisor, "FIRST_WAIT_S", 0.01)
    return io.StringIO()


def supervise(log: io.StringIO, file: Path, story: Callable[[], Any]) -> int:
    """Run two processes, of which the first asks for a sum and ends once the file is there.
    Answers the exit code."""
    command = (sys.executable, "-c", PROGRAM, str(file))
    made = (command, 2, WAIT_S, make_log("info", log), SystemClock())

    async def whole() -> int:
        running = asyncio.create_task(ProcessSupervisor(*made).run())
        telling = asyncio.create_task(story())
        async with asyncio.timeout(WAIT_S):
            # A supervisor that ends by itself has failed.
            _ = await asyncio.wait((running, telling), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                signal.raise_signal(signal.SIGTERM)
            await telling
            return await running

    code = asyncio.run(whole())
    assert "did not end and is killed" not in log.getvalue()
    return code


async def until(log: io.StringIO, text: str, count: int = 1) -> None:
    while log.getvalue().count(text) < count:
        await asyncio.sleep(0.01)


def test_a_process_that_cannot_be_started_is_tried_again(
    log: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = asyncio.create_subprocess_exec
    calls: list[int] = []

    async def second_fails(*words: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return await start(*words, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", second_fails)
    _ = supervise(
        log, tmp_path / "go", lambda: until(log, "worker process is ready", 2)
    )  # 0 is below
    assert "could not be started" in log.getvalue()


def test_a_first_process_that_is_killed_while_it_starts_is_started_again(
    log: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could not say what is wrong, and the command ended with nothing in its log."""
    start = asyncio.create_subprocess_exec
    calls: list[int] = []

    async def first_is_killed(*words: Any, **options: Any) -> Any:
        calls.append(1)
        kills = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        return await start(*((*words[:2], kills) if len(calls) == 1 else words), **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", first_is_killed)
    code = supervise(log, tmp_path / "go", lambda: until(log, "worker process is ready", 2))
    assert code == 0
    assert 'a process ended" number=0 code=-9' in log.getvalue()


def test_a_first_process_that_ends_without_a_word_ends_the_command_with_one(
    log: io.StringIO,
) -> None:
    made = (make_log("info", log), SystemClock())
    quits = ProcessSupervisor((sys.executable, "-c", ""), 2, WAIT_S, *made)
    assert asyncio.run(quits.run()) == 1
    assert "ended before it worked" in log.getvalue()


def test_the_end_of_a_process_is_heard_while_its_sum_waits_for_a_silent_one(
    log: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "COUNT_S", 3600.0)

    async def story() -> None:
        await until(log, "worker process is ready", 2)
        (tmp_path / "go").touch()
        await until(log, 'a process ended" number=0 code=5')

    _ = supervise(log, tmp_path / "go", story)  # it is that of the first one


def test_one_whose_copy_lives_on_is_started_anew_and_does_not_hold_up_the_stop(
    log: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the line to the supervisor as well."""
    monkeypatch.chdir(tmp_path)
    forks = tmp_path / "forks"
    forks.touch()

    async def story() -> None:
        await until(log, "worker process is ready", 2)
        (tmp_path / "go").touch()
        await until(log, 'a process ended" number=0 code=5')
        await until(log, 'worker process is ready" number=0', 2)

    try:
        _ = supervise(log, tmp_path / "go", story)  # it is that of the first one
    finally:
        forks.unlink()


def test_the_line_ends_with_its_process_also_where_copies_and_programs_of_it_live_on(
    tmp_path: Path,
) -> None:
    ours, theirs = socket.socketpair()
    lives = tmp_path / "lives"
    lives.touch()
    with ours, theirs:
        env = {**os.environ, VARIABLE: f"{theirs.fileno()}:1"}
        command = (sys.executable, "-c", COPIES, str(lives))
        try:
            with subprocess.Popen(command, env=env, pass_fds=(theirs.fileno(),)):
                theirs.close()
                ours.settimeout(WAIT_S)
                assert ours.recv(1) == b""
        finally:
            lives.unlink()


def test_one_that_is_stopped_while_it_loads_does_not_make_the_stop_a_failure(
    log: io.StringIO, tmp_path: Path
) -> None:
    """It does not catch SIGTERM yet, and has nothing in hand."""
    assert supervise(log, tmp_path / "go", lambda: until(log, "worker process is ready")) == 0
