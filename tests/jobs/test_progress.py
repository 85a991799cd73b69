"""Jobs tell how far they have come."""

import asyncio
import os
import threading
from typing import Any

import pytest

from postroad import Message, Postroad
from postroad.verbs import jobs
from tests.jobs.conftest import Within
from tests.jobs.test_results import running


def test_a_job_tells_how_far_it_has_come(dsn: str, within: Within) -> None:
    road, go_on, again = Postroad(dsn), asyncio.Event(), threading.Event()

    @road.handler("async")
    async def on_async(message: Message) -> None:
        for done in range(4):
            message.progress(done, 10, "resizing")
        _ = await go_on.wait()
        message.progress(10, 10, "done")

    @road.handler("thread")
    def in_thread(message: Message) -> None:
        message.progress(5)
        again.wait(60)

    async def told(id: str, done: float) -> tuple[float, float, str]:  # noqa: A002
        while True:
            come = (await road.jobs.wait(id, timeout=0)).progress
            if come is not None and come.done == done:
                return come.done, come.total, come.note
            await asyncio.sleep(0.05)

    async def story() -> None:
        async with running(road):
            one, other = await road.send("async", 1), await road.send("thread", 1)
            assert await told(one.id, 3) == (3, 10, "resizing")
            assert await told(other.id, 5) == (5, 0, "")
            await shows(road, one.id, "3 of 10")
            await shows(road, other.id, "5")
            queue = await road.explain_queue("async")
            assert "1 try is under way in the process that answers." in queue.sentence
            assert (queue.waiting, queue.next.what) == ({0: 1}, "answer")
            if dsn.startswith("postgresql"):
                async with Postroad(dsn) as elsewhere:  # by what is stored
                    await shows(elsewhere, one.id, "3 of 10")
            go_on.set()
            again.set()
            assert await told(one.id, 10) == (10, 10, "done")

    within(story())


async def shows(road: Postroad, id: str, done: str) -> None:  # noqa: A002
    """It says that the job is being tried, where, and how far it has come."""
    told = await road.explain(id)
    assert (told.state, told.next.what) == ("sending", "answer")
    assert f"A try is under way in process {os.getpid()} on " in told.sentence
    assert f" that {done} is done; its answer decides." in told.sentence
    assert "resizing" not in told.sentence


def test_many_reports_wake_the_loop_once(
    road: Postroad, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[object] = []

    @road.handler("eager")
    async def eager(message: Message) -> None:
        loop = asyncio.get_running_loop()
        wake = loop.call_soon_threadsafe

        def counted(callback: Any, *args: Any, **options: Any) -> asyncio.Handle:
            woken.append(callback)
            return wake(callback, *args, **options)

        with monkeypatch.context() as counting:
            counting.setattr(loop, "call_soon_threadsafe", counted)
            for done in range(1_000):
                message.progress(done)

    async def story() -> None:
        async with running(road):
            sent = await road.send("eager", 1)
            assert (await road.jobs.wait(sent.id)).state == "delivered"
            assert len([one for one in woken if "Event.set" in repr(one)]) == 1
            while (come := (await road.jobs.wait(sent.id)).progress) is None:
                await asyncio.sleep(0.05)
            assert come.done == 999

    within(story())


def test_jobs_that_run_are_listed_with_how_far_they_have_come(dsn: str, within: Within) -> None:
    road, go_on, tried = Postroad(dsn), asyncio.Event(), asyncio.Event()

    @road.handler("copy")
    async def copy(message: Message[str]) -> None:
        message.progress(3, 4, message.body)
        if message.body == "fails":
            tried.set()
            raise ValueError("not now")
        _ = await go_on.wait()

    async def told(of: Postroad, *ids: str) -> list[tuple[str, str, float]]:
        """What is said of those that run, as soon as these do and no other."""
        while True:
            found = await of.jobs.running()
            if {one.id for one in found} == set(ids):
                return sorted((one.id, one.progress.note, one.progress.done) for one in found)
            await asyncio.sleep(0.05)

    async def story() -> None:
        async with running(road), Postroad(dsn.replace("sqlite:", "road:")) as far:
            assert await far.jobs.running() == ()
            _ = await road.send("copy", "fails")
            _ = await tried.wait()
            ids = [(await road.send("copy", note)).id for note in ("one", "two")]
            assert await told(far, *ids) == sorted(
                (one, note, 3) for one, note in zip(ids, ("one", "two"), strict=True)
            )
            assert [(await of.jobs.wait(ids[0], timeout=0)).state for of in (road, far)] == [
                "sending"
            ] * 2
            assert len(await road.jobs.running(limit=1)) == 1
            go_on.set()
            assert await told(far) == []

    within(story())


def test_a_busy_tenant_does_not_hide_another_ones_jobs(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each tenant's own reports the latest ones are looked at."""
    monkeypatch.setattr(jobs, "LOOKED_AT", 2)
    road, go_on = Postroad(dsn), asyncio.Event()

    @road.handler("copy")
    async def copy(message: Message) -> None:
        message.progress(1, 2)
        _ = await go_on.wait()

    async def story() -> None:
        async with running(road):
            mine = (await road.send("copy", 1)).id
            while not await road.jobs.running():
                await asyncio.sleep(0.05)
            others = {(await road.send("copy", n, tenant="busy")).id for n in range(4)}
            for one in others:
                while (await road.jobs.wait(one, timeout=0, tenant="busy")).progress is None:
                    await asyncio.sleep(0.05)
            assert [one.id for one in await road.jobs.running()] == [mine]
            busy = {one.id for one in await road.jobs.running(tenant="busy")}
            assert (len(busy), busy <= others) == (2, True)
            go_on.set()

    within(story())
