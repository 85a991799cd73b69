"""Handlers with process=True: called in child processes, which may crash."""

import asyncio
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from postroad import Exponential, Message, Postroad
from postroad.model.entities import Policy
from postroad.model.errors import BadInput
from postroad.observe.log import make_log
from postroad.transports import children
from postroad.transports.function_place import FunctionPlace
from postroad.verbs.parts import Parts
from tests.processes import jobs
from tests.processes.jobs import Note

WAIT_S = 150.0
AGAIN = Exponential(retries=3, base_ms=20)


class Stand:
    """A road with one handler in child processes, and the file that it writes to."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.log = io.StringIO()
        self.file = folder / "notes"
        self.file.touch()
        parts = Parts(log=make_log("info", self.log))
        self.road = Postroad(f"sqlite:///{folder}/road.db", parts=parts)
        options = {"process": True, "concurrency": 1, "ladder": AGAIN, **options}
        self.road.handler("work", **options)(jobs.work)
        self.road.handler("deaf", **options)(jobs.deaf)

    def notes(self) -> list[tuple[int, int, str]]:
        """Which process did what, at which try."""
        lines = [line.split(" ", 2) for line in self.file.read_text().splitlines()]
        return [(int(pid), int(attempt), what) for pid, attempt, what in lines]

    async def send(self, do: str, queue: str = "work") -> str:
        return (await self.road.send(queue, Note(str(self.file), do))).id

    async def state(self, number: str) -> str:
        return (await self.road.explain(number)).state

    def run(self, story: Callable[[], Any]) -> None:
        """Run a story beside the road's run."""

        async def whole() -> None:
            async with asyncio.timeout(WAIT_S), self.road:
                running = asyncio.create_task(self.road.run())
                try:
                    await story()
                finally:
                    self.road.stop()
                    await running

        asyncio.run(whole())


async def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition, plain or async."""
    while True:
        said = condition()
        if said if isinstance(said, bool) else await said:
            return
        await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for has ended too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # before, or while it is read
        return True


def test_a_handler_runs_in_a_child_that_is_kept_and_ends_with_the_road(tmp_path: Path) -> None:
    stand = Stand(tmp_path)

    async def story() -> None:
        for what in ("one", "two", "later", "beat"):
            number = await stand.send(what)
            await until(partial(is_state, stand, number, "delivered"))

    stand.run(story)
    pids = {pid for pid, _, _ in stand.notes()}
    assert [what for _, _, what in stand.notes()] == ["one", "two", "later", "later", "beat"]
    assert len(pids) == 1
    assert os.getpid() not in pids
    assert all(map(gone, pids))


async def is_state(stand: Stand, number: str, wanted: str) -> bool:
    return await stand.state(number) == wanted


def test_a_crashed_child_is_one_failed_try_and_the_engine_goes_on(tmp_path: Path) -> None:
    stand = Stand(tmp_path)

    async def story() -> None:
        crashed = await stand.send("crash once")
        await until(lambda: is_state(stand, crashed, "delivered"))
        lost = await stand.send("crash")
        await until(lambda: is_state(stand, lost, "dead"))
        told = await stand.road.explain(lost)
        assert [each.error for each in told.tries] == [
            "the child process of this call ended by SIGSEGV"
        ] * 4
        fine = await stand.send("fine")
        await until(lambda: is_state(stand, fine, "delivered"))

    stand.run(story)
    assert [attempt for _, attempt, what in stand.notes() if what == "crash once"] == [1, 2]
    assert [attempt for _, attempt, what in stand.notes() if what == "crash"] == [1, 2, 3, 4]
    assert "the process of a handler ended" in stand.log.getvalue()


def test_a_child_that_has_ended_gets_no_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number may be another process's by then."""
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _: sent.append(pid))
    stand = Stand(tmp_path)

    async def story() -> None:
        number = await stand.send("crash once")
        await until(lambda: is_state(stand, number, "delivered"))

    stand.run(story)
    assert stand.notes()[0][0] not in sent


def test_a_handler_that_cannot_be_imported_is_told_anew_to_each_call() -> None:
    async def story() -> None:
        made = children.Children("moved", FunctionPlace(jobs.__name__, "moved"), Policy(), 1)
        errors = []
        for _ in range(3):
            with pytest.raises(children.ChildLost, match="cannot import") as raised:
                _ = await made.start()
            errors.append(raised.value)
        assert len(set(map(id, errors))) == 3  # a traceback grows each time that it is raised
        await made.close()

    asyncio.run(story())


def test_what_a_handler_raises_in_a_child_is_told_as_here(tmp_path: Path) -> None:
    stand = Stand(tmp_path, retries=0)

    async def story() -> None:
        for do, error in (
            ("raise", "ValueError: no such photo"),
            ("reject", "never"),
            ("exit", "RuntimeError: the handler raised SystemExit(3)"),
        ):
            number = await stand.send(do)
            await until(partial(is_state, stand, number, "dead"))
            assert (await stand.road.explain(number)).tries[-1].error == error

    stand.run(story)
    assert 'raise ValueError("no such photo")' in stand.log.getvalue().replace("\\", "")


def test_a_call_past_its_timeout_is_ended_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, retries=0, timeout=0.5)

    async def hang_until(queue: str, noted: str) -> None:
        """On a slow machine a call may be cut before its function has noted anything."""
        while noted not in [what for _, _, what in stand.notes()]:
            number = await stand.send("hang", queue)
            await until(partial(is_state, stand, number, "dead"))
            error = (await stand.road.explain(number)).tries[-1].error
            assert error == "cut after 0.5 s, the handler's timeout; its process was ended"
            await until(lambda: all(gone(pid) for pid, _, _ in stand.notes()))

    async def story() -> None:
        monkeypatch.setattr(children, "END_S", 20.0)  # one that is still loading hears nothing
        await hang_until("work", "cleaned up")
        monkeypatch.setattr(children, "END_S", 0.1)
        await hang_until("deaf", "deaf")

    stand.run(story)


def test_a_call_that_hangs_is_cut_although_it_waited_in_line(tmp_path: Path) -> None:
    stand = Stand(tmp_path, retries=0, timeout=0.5)

    async def story() -> None:
        numbers = [await stand.send("hang") for _ in range(3)]
        for number in numbers:
            await until(partial(is_state, stand, number, "dead"))

    stand.run(story)


def test_a_lost_process_of_an_at_most_once_handler_leaves_its_message_uncertain(
    tmp_path: Path,
) -> None:
    stand = Stand(tmp_path, at_most_once=True)

    async def story() -> None:
        number = await stand.send("crash once")
        await until(lambda: is_state(stand, number, "uncertain"))

    stand.run(story)


def test_an_idle_child_is_ended_and_another_one_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "IDLE_S", 0.05)
    stand = Stand(tmp_path)

    async def story() -> None:
        _ = await stand.send("one")
        await until(lambda: bool(stand.notes()))
        first = stand.notes()[0][0]
        await until(lambda: gone(first))
        _ = await stand.send("two")
        await until(lambda: len(stand.notes()) == 2)
        assert stand.notes()[1][0] != first

    stand.run(story)


def test_a_child_that_was_killed_while_idle_costs_no_try(tmp_path: Path) -> None:
    stand = Stand(tmp_path)

    async def story() -> None:
        number = await stand.send("one")
        await until(lambda: is_state(stand, number, "delivered"))
        pid = stand.notes()[0][0]
        os.kill(pid, signal.SIGKILL)
        # Its main thread is a zombie before its other one has closed the pipe; then it is waitable.
        _ = await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        again = await stand.send("two")
        await until(lambda: is_state(stand, again, "delivered"))

    stand.run(story)
    assert [(attempt, what) for _, attempt, what in stand.notes()] == [(1, "one"), (1, "two")]


def test_a_handler_of_several_parameters_is_called_by_their_names_and_gives_its_result(
    tmp_path: Path,
) -> None:
    stand = Stand(tmp_path)
    told = stand.road.handler("told", process=True, result_ttl=60)(jobs.told)

    async def story() -> None:
        receipt = await told.send(file=str(stand.file), text="hello")
        assert await receipt.result(timeout=WAIT_S) == {"told": "hello"}

    stand.run(story)
    pid, text = stand.file.read_text().split()
    assert (int(pid) != os.getpid(), text) == (True, "hello")


PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from postroad import Postroad

road = Postroad(f"sqlite:///{sys.argv[1]}/road.db")

@road.handler("work", process=True, concurrency=1)
def work(message):
    Path(sys.argv[1], "pid").write_text(str(os.getpid()))
    if message.body == "hang":
        while True:
            pass

@road.every("* * * * * *", process=True)
def tick():
    Path(sys.argv[1], "tick").write_text(str(os.getpid()))

async def main():
    async with road:
        await road.send("work", sys.argv[2])
        await road.run()

if __name__ == "__main__":
    asyncio.run(main())
"""


def start(folder: Path, body: str) -> "subprocess.Popen[bytes]":
    (folder / "program.py").write_text(PROGRAM)
    words = (sys.executable, "program.py", str(folder), body)
    return subprocess.Popen(words, cwd=folder)


def written(file: Path) -> str:
    return file.read_text() if file.exists() else ""


async def number_in(file: Path) -> int:
    while not (found := written(file)):  # read once: a timetable writes it anew
        await asyncio.sleep(0.01)
    return int(found)


def test_handlers_of_the_program_itself_and_of_timetables(tmp_path: Path) -> None:
    process = start(tmp_path, "fine")

    async def story() -> None:
        async with asyncio.timeout(WAIT_S):
            pids = {await number_in(tmp_path / name) for name in ("pid", "tick")}
            assert process.pid not in pids
            process.send_signal(signal.SIGTERM)
            await until(lambda: process.poll() is not None)
            assert process.returncode == 0
            await until(lambda: all(map(gone, pids)))

    try:
        asyncio.run(story())
    finally:
        process.kill()
        process.wait()


def test_a_child_ends_with_an_engine_that_is_killed(tmp_path: Path) -> None:
    process = start(tmp_path, "hang")

    async def story() -> None:
        async with asyncio.timeout(WAIT_S):
            pid = await number_in(tmp_path / "pid")
            process.kill()
            await until(lambda: gone(pid))

    try:
        asyncio.run(story())
    finally:
        process.kill()
        process.wait()


def given(_message: Message, _path: Path) -> None:
    """A handler that wants something provided."""


async def wait_a_bit(_message: Message) -> None:
    """A coroutine."""


def test_what_a_child_cannot_import_or_call_is_refused_at_once(road: Postroad) -> None:
    def inner(_message: Message) -> None: ...

    for function in (inner, lambda _message: None, partial(jobs.work)):
        with pytest.raises(BadInput, match="at the top level of a module"):
            road.handler("work", process=True)(function)
    with pytest.raises(BadInput, match="makes its own"):
        road.provide(Path, Path)
        road.handler("work", process=True)(given)
    with pytest.raises(BadInput, match="process=True is for plain functions"):
        road.handler("work", process=True)(wait_a_bit)


def test_what_turns_out_not_to_be_importable_fails_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, retries=0)
    monkeypatch.setattr(jobs.work, "__qualname__", "moved")
    stand.road.handler("moved", process=True, retries=0)(jobs.work)

    async def story() -> None:
        number = await stand.send("one", "moved")
        await until(lambda: is_state(stand, number, "dead"))
        error = (await stand.road.explain(number)).tries[-1].error
        assert "cannot import tests.processes.jobs.moved (AttributeError" in error
        assert "at the top level of a module" in error

    stand.run(story)


@pytest.fixture
def road(tmp_path: Path) -> Postroad:
    """A road that is not open."""
    return Postroad(f"sqlite:///{tmp_path}/road.db")
