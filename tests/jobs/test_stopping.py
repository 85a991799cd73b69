"""A running job is stopped wherever it runs, and is never both cancelled and delivered."""

import asyncio
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from postroad import Message, Postroad
from tests.jobs.conftest import Within
from tests.jobs.stopping import stop_jobs, until
from tests.jobs.test_results import running

if TYPE_CHECKING:
    from tests.servers.postgres import PrivatePostgres


def test_a_coroutine_is_cancelled_and_a_thread_is_told(  # noqa: C901 - five ways to end
    dsn: str, within: Within
) -> None:
    road, seen = Postroad(dsn), list[str]()
    deaf = threading.Event()

    @road.handler("async", retries=0)
    async def on_async(message: Message[str]) -> None:
        seen.append(f"{message.body} began")
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            seen.append(f"{message.body} stopped")
            if message.body == "stubborn":
                return
            if message.body == "clumsy":
                raise ValueError from None
            raise

    @road.handler("thread", retries=0)
    def in_thread(message: Message[str]) -> None:
        seen.append(f"{message.body} began")
        while message.body != "deaf" and not message.cancelled:
            time.sleep(0.01)
        if message.body == "deaf":
            deaf.wait(60)
            return
        message.heartbeat()  # raises

    async def stopped(queue: str, body: str, wait: float = 40.0) -> tuple[str, str]:
        receipt = await road.send(queue, body)
        await until(lambda: f"{body} began" in seen)
        answer = await road.cancel(receipt.id, running=True, wait=wait)
        if answer.state == "sending":
            deaf.set()
            await road.jobs.wait(receipt.id, timeout=40)
        return answer.state, (await road.explain(receipt.id)).state

    async def story() -> None:
        async with running(road):
            assert await stopped("async", "good") == ("cancelled", "cancelled")
            assert await stopped("async", "clumsy") == ("cancelled", "cancelled")
            assert await stopped("async", "stubborn") == ("final", "delivered")
            assert await stopped("thread", "good thread") == ("cancelled", "cancelled")
            assert await stopped("thread", "deaf", wait=4) == ("sending", "delivered")
            plain = await road.send("async", "plain")  # without running it goes on
            await until(lambda: "plain began" in seen)
            assert (await road.cancel(plain.id, wait=4)).state == "sending"
            assert "plain stopped" not in seen
            assert (await road.cancel(plain.id, running=True)).state == "cancelled"

    within(story())


def test_a_job_that_ends_while_it_is_stopped_ends_one_way(dsn: str, within: Within) -> None:
    """Whoever is the faster one: what the road says is what the handler did."""
    road, done, stopped = Postroad(dsn), set[str](), set[str]()

    @road.handler("race", retries=0)
    async def race(message: Message[int]) -> None:
        try:
            await asyncio.sleep(message.body / 1000)
            done.add(message.id)
        except asyncio.CancelledError:
            stopped.add(message.id)
            raise

    async def story() -> None:
        async with running(road):
            ids = [(await road.send("race", n % 40)).id for n in range(80)]
            answers = await asyncio.gather(*(road.cancel(one, running=True) for one in ids))
            for answer in answers:
                state = (await road.explain(answer.id)).state
                assert state in ("cancelled", "delivered")
                assert (answer.state == "cancelled") == (state == "cancelled")
                assert (state == "delivered") == (answer.id in done)
            assert not done & stopped

    within(story())


def test_a_job_is_stopped_in_a_fleet_of_three(
    server: "PrivatePostgres", tmp_path: Path, within: Within
) -> None:
    stops = within(stop_jobs(server.create_road(), tmp_path, 4))
    assert (stops.answers, stops.states) == ({"cancelled"}, {"cancelled"})
    assert (stops.stopped, stops.done) == (20, 0)
    assert max(stops.process_seconds) <= 10  # loosely: one that hears nothing is killed after 2 s
