"""The blocking face: the same verbs without `await`, from any thread."""

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import postroad
from postroad import app
from postroad import sync as blocking
from postroad.model.control import CancelState
from postroad.model.errors import BadInput, NotOpen, RoadInUse, UnknownQueue
from postroad.sync import Message, Postroad, Reject, Send
from postroad.verbs.grouping import VerbGroup


@pytest.fixture
def road(tmp_path: Path) -> Postroad:
    return Postroad(f"sqlite:///{tmp_path}/road.db")


def test_a_script_sends_runs_and_asks(road: Postroad) -> None:
    """All in one thread, without a loop in sight."""
    seen: list[object] = []

    @road.handler("plain")
    def plain(message: Message[int]) -> None:
        seen.append(message.body)

    @road.handler("async")
    async def on_async(message: Message[int]) -> None:
        seen.append(message.body)

    with road:
        receipt = road.send("plain", 1, key="k")
        assert road.send("plain", 1, key="k").duplicate
        road.send_many([("async", 2), Send("async", 3)])
        road.run(until_idle=True)
        assert sorted(seen, key=repr) == [1, 2, 3]
        assert road.explain(receipt.id).state == "delivered"


def test_the_dead_set_and_the_controls(road: Postroad) -> None:
    """Every verb of the road is there."""

    @road.handler("picky")
    def picky(message: Message[str]) -> None:
        if message.body == "bad":
            raise Reject("never")

    with road:
        receipt = road.send("picky", "bad")
        road.run(until_idle=True)
        (dead,) = road.dead.list(queue="picky").messages
        assert dead.id == receipt.id
        assert road.dead.show(dead.id).body == b'"bad"'
        assert road.dead.replay(ids=[dead.id], mode="reset") == 1
        road.run(until_idle=True)
        assert road.dead.purge(queue="picky") == 1
        later = road.send("picky", "good", delay=3600)
        assert road.cancel(later.id).state is CancelState.cancelled
        road.pause("picky")
        held = road.send("picky", "good")
        road.run(until_idle=True)
        assert road.explain(held.id).state == "held"
        assert road.explain_queue("picky").held == {0: 1}
        road.resume("picky")
        road.unblock("picky")
        assert road.cancel_all("picky").cancelled == 1


INSIDE = {
    f"CredentialAdmin.{name}"
    for name in ("channel", "get", "route", "session", "session_for", "site_sessions", "usable")
}
"""Verbs that the road itself calls, or its API."""


def groups(face: type) -> dict[str, type]:
    found = inspect.getmembers_static(face, lambda each: isinstance(each, VerbGroup))
    return {name: group.kind for name, group in found}


def test_every_verb_of_the_road_has_its_blocking_twin() -> None:
    """With the same words; a new verb or group that is forgotten in sync.py fails."""
    ours, twins = groups(app.Postroad), groups(blocking.Postroad)
    assert ours.keys() == twins.keys()
    pairs = [(app.Postroad, blocking.Postroad), *((ours[name], twins[name]) for name in ours)]
    for one, twin in pairs:
        for name, verb in inspect.getmembers(one, inspect.isfunction):
            gives_steps = "AsyncIterator" in str(inspect.signature(verb).return_annotation)
            waits = inspect.iscoroutinefunction(verb) or one is app.Postroad
            inside = f"{one.__name__}.{name}" in INSIDE
            if waits and not name.startswith("_") and not gives_steps and not inside:
                other = getattr(twin, name)
                takes, given = inspect.signature(verb), inspect.signature(other)
                assert given.parameters == takes.parameters, name
                assert not inspect.iscoroutinefunction(other)


def test_many_threads_may_send_while_another_runs(road: Postroad) -> None:
    """As the threads of a web server do; a handler in a thread may send too."""
    done, count = threading.Event(), 0
    lock = threading.Lock()

    @road.handler("first")
    def first(message: Message[int]) -> None:
        road.send("second", message.body)

    @road.handler("second")
    def second(_message: Message[int]) -> None:
        nonlocal count
        with lock:
            count += 1
            if count == 200:
                done.set()

    with road, ThreadPoolExecutor(9) as pool:
        running = pool.submit(road.run)
        receipts = list(pool.map(lambda n: road.send("first", n), range(200)))
        assert len({receipt.id for receipt in receipts}) == 200
        assert done.wait(60)
        road.stop()
        running.result(30)


def test_closing_ends_a_run_that_another_thread_waits_in(road: Postroad) -> None:
    """In good order."""
    started, ended = threading.Event(), threading.Event()

    @road.handler("work")
    def work(_message: Message[object]) -> None:
        started.set()

    def run() -> None:
        road.run()
        ended.set()

    thread = threading.Thread(target=run)
    with road:
        road.send("work", 1)
        thread.start()
        assert started.wait(60)
    assert ended.wait(60)
    thread.join(60)
    with road:  # and it can be opened again
        road.run(until_idle=True)


def test_closing_leaves_no_thread_waiting(road: Postroad) -> None:
    """Whoever waits for a verb is told."""
    errors: list[BaseException] = []
    asked = threading.Event()

    def wait_for_it() -> None:
        async def never() -> None:
            asked.set()
            await asyncio.Event().wait()

        try:
            road._wait(never())
        except NotOpen as error:
            errors.append(error)

    thread = threading.Thread(target=wait_for_it)
    with road:
        thread.start()
        assert asked.wait(60)
    thread.join(60)
    assert "closed while this waited" in str(errors[0])


def test_own_rows_and_messages_are_committed_together(road: Postroad) -> None:
    """send_in from a plain thread."""
    seen: list[object] = []
    road.handler("work")(lambda message: seen.append(message.body))
    with road:
        connection = road.connection()
        connection.execute("create table orders (item text)")
        with connection:
            connection.execute("insert into orders values ('cup')")
            road.send_in(connection, "work", "cup")
        road.run(until_idle=True)
    assert seen == ["cup"]


def test_mistakes_are_named(road: Postroad, tmp_path: Path) -> None:
    """Not open, open twice, an unknown queue, a file in use, a wait for oneself."""
    with pytest.raises(NotOpen, match="with road"):
        road.send("work", 1)
    errors: list[BaseException] = []

    @road.handler("selfish")
    async def selfish(_message: Message[object]) -> None:
        try:
            road.send("selfish", 2)
        except BadInput as error:
            errors.append(error)

    with road:
        with pytest.raises(BadInput, match="open already"):
            road.open()
        with pytest.raises(UnknownQueue):
            road.send("nobody", 1)
        with pytest.raises(RoadInUse):
            Postroad(f"sqlite:///{tmp_path}/road.db").open()
        road.send("selfish", 1)
        road.run(until_idle=True)
    assert "wait for itself" in str(errors[0])
    road.close()
    assert not [t for t in threading.enumerate() if t.name == "postroad"]


SERVES = """
import sys
from postroad.sync import Postroad

road = Postroad(f"sqlite:///{sys.argv[1]}/road.db")

@road.handler("work")
def work(message):
    print("working", flush=True)

with road:
    road.send("work", 1)
    road.run()
    print("ended in good order")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_run_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    """In the main thread, where signals arrive."""
    child = subprocess.Popen(
        (sys.executable, "-c", SERVES, str(tmp_path)),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "working\n"
        child.send_signal(number)
        assert child.stdout.read() == "ended in good order\n"
    assert child.returncode == 0


def test_a_verb_that_is_given_to_a_loop_about_to_end_is_answered(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the loop and the hand-over another thread may close the road."""
    given, closed = threading.Event(), threading.Event()
    start = asyncio.run_coroutine_threadsafe
    sender = threading.current_thread()

    def slowly(verb: Any, loop: asyncio.AbstractEventLoop) -> Any:
        if threading.current_thread() is sender:
            given.set()
            closed.wait(0.3)
        return start(verb, loop)

    def close() -> None:
        given.wait()
        road.close()
        closed.set()

    @road.handler("plain")
    def plain(_message: Message[int]) -> None: ...

    road.open()
    closing = threading.Thread(target=close)
    closing.start()
    monkeypatch.setattr("postroad.sync.asyncio.run_coroutine_threadsafe", slowly)
    with suppress(NotOpen):  # sent before, or refused after
        road.send("plain", 1)
    closing.join()


def test_the_names_that_handlers_and_sends_need_are_here_too() -> None:
    """A program imports from one place; what is set up for other servers is in `postroad`."""
    asks = {"Batch", "Exponential", "HoldKey", "HoldQueue", "Message", "PostroadError", "Receipt"}
    asks |= {"Reject", "RetryLater", "Send", "Some", "Steps", "chain", "provided"}
    assert {*blocking.__all__} == {*asks, "Postroad"}
    assert all(getattr(blocking, name) is getattr(postroad, name) for name in asks)
