"""Handlers as jobs: threads that are cut, heartbeats, an end in good order."""

import asyncio
import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad import Message, Postroad
from postroad.config import Settings
from postroad.model.limits import Limits
from postroad.observe.log import make_log
from postroad.transports.handler import PLAIN_CONCURRENCY
from postroad.verbs.parts import Parts
from tests.rig.world import World, simulate

Within = Callable[..., Any]


async def until(condition: Callable[[], bool]) -> None:
    """Wait, bounded by the test."""
    while not condition():
        await asyncio.sleep(0.005)


def test_a_cut_thread_keeps_its_place_until_it_ends(tmp_path: Path, within: Within) -> None:
    """Nobody can stop a thread: one that hangs must not be joined by ever more of them."""
    stream = io.StringIO()
    parts = Parts(log=make_log("info", stream))
    road = Postroad(f"sqlite:///{tmp_path}/road.db", parts=parts)
    go, seen = threading.Event(), list[object]()

    @road.handler("slow", timeout=0.5, retries=0, concurrency=1)
    def slow(message: Message[str]) -> None:
        seen.append(message.body)
        if message.body == "hangs":
            go.wait(60)

    async def story() -> None:
        async with road:
            await road.send("slow", "hangs")
            running = asyncio.create_task(road.run())
            await until(lambda: "keeps its place" in stream.getvalue())
            await road.send("slow", "next")
            while not (await road.store.counts())["dead"]:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.7)  # lanes that found no room look again after half a second
            assert seen == ["hangs"]
            go.set()
            await until(lambda: len(seen) == 2)
            road.stop()
            await running
            page = await road.dead.list()
            assert "its thread runs on" in page.messages[0].error

    within(story())
    assert seen == ["hangs", "next"]
    log = stream.getvalue()
    assert 'event="a handler was cut but its thread runs on and keeps its place"' in log
    assert 'event="the thread of a cut handler ended"' in log


def test_a_thread_that_was_cut_is_told_so_by_its_heartbeat(road: Postroad, within: Within) -> None:
    """So it can end itself."""
    told: list[str] = []
    cut = threading.Event()

    @road.handler("slow", timeout=0.5, retries=0)
    def slow(message: Message[object]) -> None:
        cut.wait(60)
        try:
            message.heartbeat()
        except TimeoutError as error:
            told.append(str(error))

    async def story() -> None:
        async with road:
            await road.send("slow", 1)
            await road.run(until_idle=True)
            assert (await road.store.counts())["dead"] == 1
            cut.set()
            await until(lambda: bool(told))

    within(story())
    assert told == ["this try is over: it was cut, and its message is tried again"]


def test_a_heartbeat_lets_a_thread_take_longer(road: Postroad, within: Within) -> None:
    """Each one gives it the whole timeout again."""

    @road.handler("slow", timeout=3, retries=0)
    def slow(message: Message[object]) -> None:
        for _ in range(35):
            time.sleep(0.1)
            message.heartbeat()

    async def story() -> None:
        async with road:
            await road.send("slow", 1)
            await road.run(until_idle=True)
            assert (await road.store.counts())["delivered"] == 1

    within(story())


def test_a_heartbeat_lets_a_coroutine_take_longer_and_the_last_one_counts() -> None:
    """In simulated time: an hour of work with a timeout of a minute, then silence."""

    async def story(world: World) -> None:
        ended: list[tuple[object, float]] = []

        def equip(_name: str, road: Postroad) -> None:
            @road.handler("long", timeout=60, retries=0)
            async def long(message: Message[bool]) -> None:
                started_s = world.loop.time()
                try:
                    for _ in range(72):
                        await asyncio.sleep(50)
                        # From a task of its own, as a library might.
                        await asyncio.create_task(asyncio.sleep(0))
                        message.heartbeat()
                    if message.body:
                        await asyncio.sleep(3600)
                finally:
                    ended.append((message.body, world.loop.time() - started_s))

        world.equip = equip
        member = world.start("one")
        await asyncio.sleep(1)
        await member.road.send("long", body=False)
        await member.road.send("long", body=True)
        await asyncio.sleep(4000)
        took_s = {body: round(took_s) for body, took_s in ended}
        assert took_s == {False: 3600, True: 3660}
        counts = await world.store.counts()
        assert (counts["delivered"], counts["dead"]) == (1, 1)

    simulate(1, story)


def test_plain_functions_have_a_thread_for_every_place(road: Postroad, within: Within) -> None:
    """A call never waits for a thread while its time runs; by default 32 run at once."""
    lock, now, most = threading.Lock(), 0, 0
    full = threading.Event()

    @road.handler("plain", timeout=60, retries=0)
    def plain(_message: Message[int]) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
            if now == PLAIN_CONCURRENCY:
                full.set()
        full.wait(60)
        with lock:
            now -= 1

    async def story() -> None:
        async with road:
            await road.send_many([("plain", n) for n in range(100)])
            await road.run(until_idle=True)
            assert (await road.store.counts())["delivered"] == 100

    within(story())
    assert most == PLAIN_CONCURRENCY


HUNG = """
import asyncio, sys, threading
from postroad import Postroad
from postroad.config import Settings
from postroad.model.limits import Limits

road = Postroad(f"sqlite:///{sys.argv[1]}/road.db", settings=Settings(limits=Limits(drain_s=0.2)))

@road.handler("hangs", timeout=60)
def hangs(message):
    road.stop()
    threading.Event().wait()

async def main():
    async with road:
        await road.send("hangs", 1)
        await road.run()
        print((await road.store.counts())["waiting"])

asyncio.run(main())
"""


@pytest.mark.wide
def test_a_hung_thread_does_not_keep_the_process_from_ending(tmp_path: Path) -> None:
    """Its message is given back, without an attempt spent."""
    done = subprocess.run(
        (sys.executable, "-c", HUNG, str(tmp_path)),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "1\n"


def test_a_stop_waits_for_a_thread_that_is_about_to_end(tmp_path: Path, within: Within) -> None:
    """Graceful shutdown: it is recorded as delivered."""
    settings = Settings(limits=Limits(drain_s=60))
    road = Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings)
    started, go = threading.Event(), threading.Event()

    @road.handler("slow")
    def slow(_message: Message[object]) -> None:
        started.set()
        go.wait(60)

    async def story() -> None:
        async with road:
            await road.send("slow", 1)
            running = asyncio.create_task(road.run())
            await until(started.is_set)
            road.stop()
            go.set()
            await running
            assert (await road.store.counts())["delivered"] == 1

    within(story())


def test_a_thread_may_stop_the_road(road: Postroad, within: Within) -> None:
    """The loop is asleep then, with nothing else to wake it."""
    go = threading.Event()

    @road.handler("last")
    def last(_message: Message[object]) -> None:
        go.wait(60)
        road.stop()

    async def story() -> None:
        async with road:
            await road.send("last", 1)
            asyncio.get_running_loop().call_later(0.5, go.set)
            async with asyncio.timeout(60):
                await road.run()

    within(story())


def test_what_a_thread_raises_is_its_outcome(road: Postroad, within: Within) -> None:
    """Also SystemExit, which would end a script but must not end the engine."""

    @road.handler("exits", retries=0)
    def exits(_message: Message[object]) -> None:
        raise SystemExit(3)

    @road.handler("fails", retries=0)
    def fails(_message: Message[object]) -> None:
        raise KeyError("gone")

    async def story() -> list[str]:
        async with road:
            await road.send_many([("exits", 1), ("fails", 1)])
            await road.run(until_idle=True)
            return [message.error for message in (await road.dead.list()).messages]

    errors = sorted(within(story()))
    assert errors == ["KeyError: 'gone'", "RuntimeError: the handler raised SystemExit(3)"]


def test_an_error_inside_the_block_ends_the_run_in_good_order(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A run that is a task of its own is ended before its road is closed."""
    road = Postroad(f"sqlite:///{tmp_path}/road.db")
    road.hears_signals = False
    runs: list[asyncio.Task[None]] = []

    async def story() -> None:
        async with road:
            runs.append(asyncio.create_task(road.run()))
            while road.engine is None:
                await asyncio.sleep(0)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(story())
    assert (runs[0].done(), runs[0].cancelled(), runs[0].exception()) == (True, False, None)
    assert "Traceback" not in capfd.readouterr().err
