"""Calls in child processes that are stopped: what is said of them is what they did."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from postroad import Message
from postroad.verbs.handler_options import HandlerOptions
from tests.processes import jobs
from tests.processes.jobs import runs
from tests.processes.test_process_handlers import Stand, is_state, until


class Stops(Stand):
    """A road whose one handler is stopped."""

    def __init__(self, folder: Path, timeout: float) -> None:
        super().__init__(folder)
        options = HandlerOptions(process=True, concurrency=1, timeout=timeout, retries=0)
        self.road.handler("stopped", **options)(jobs.stopped)

    async def send(self, do: str, queue: str = "stopped") -> str:
        return await super().send(do, queue)


def has(stand: Stand, what: str) -> bool:
    return what in [said for _, _, said in stand.notes()]


def test_a_call_that_is_stopped_is_cancelled_or_done_and_its_child_ends(tmp_path: Path) -> None:
    """One that hears nothing is killed; it holds its place until it is gone."""
    stand = Stops(tmp_path, 100)

    async def stopped(do: str) -> str:
        number = await stand.send(do)
        await until(lambda: has(stand, do))
        answer = await stand.road.cancel(number, running=True, wait=100)
        state = await stand.state(number)
        assert (answer.state, state) in (("cancelled", "cancelled"), ("final", "delivered"))
        after = await stand.send("alone")
        await until(partial(is_state, stand, after, "delivered"))
        return state

    async def story() -> None:
        assert await stopped("hang") == "cancelled"
        assert has(stand, "cleaned up")
        assert await stopped("stubborn") == "delivered"
        assert has(stand, "done all the same")
        assert await stopped("deaf") == "cancelled"

    stand.run(story)
    said = [(pid, what) for pid, _, what in stand.notes()]
    assert [what for _, what in said].count("alone") == 3
    pids = [pid for pid, what in said if what in ("hang", "stubborn", "deaf")]
    assert len(set(pids)) == 3  # who was stopped gets no other call
    assert not any(map(runs, pids))


def test_a_call_that_waits_for_a_child_is_cancelled_and_does_not_begin(tmp_path: Path) -> None:
    stand = Stops(tmp_path, 100)

    async def story() -> None:
        first = await stand.send("hang")
        await until(lambda: has(stand, "hang"))
        second = await stand.send("two")
        while (await stand.road.jobs.wait(second, timeout=0)).state != "sending":
            await asyncio.sleep(0.01)
        assert (await stand.road.cancel(second, running=True, wait=100)).state == "cancelled"
        assert (await stand.road.cancel(first, running=True, wait=100)).state == "cancelled"

    stand.run(story)
    assert not has(stand, "two")


def test_a_call_that_is_cut_at_its_timeout_holds_its_place_until_its_child_is_gone(
    tmp_path: Path,
) -> None:
    stand = Stops(tmp_path, 1.5)

    async def story() -> None:
        cut = await stand.send("deaf")
        await until(lambda: has(stand, "deaf"))
        after = await stand.send("alone")
        await until(partial(is_state, stand, cut, "dead"))
        await until(partial(is_state, stand, after, "delivered"))

    stand.run(story)
    assert not has(stand, "beside")


def test_what_is_done_is_not_cancelled_while_a_hook_ends(tmp_path: Path) -> None:
    stand, go, ends = Stops(tmp_path, 100), asyncio.Event(), asyncio.Event()

    @stand.road.around
    async def slow(_message: Message) -> AsyncIterator[None]:
        yield
        ends.set()
        await go.wait()

    async def story() -> None:
        number = await stand.send("one")
        await ends.wait()
        while (await stand.road.cancel(number, running=True, wait=0.5)).state != "sending":
            pass
        go.set()
        await until(partial(is_state, stand, number, "delivered"))

    stand.run(story)
