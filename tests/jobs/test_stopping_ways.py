"""A running job is stopped over HTTP, by the command, through the window and without `await`."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from postroad import Message, Postroad, sync
from tests.api.stand import Stand
from tests.cli.running import postroad
from tests.jobs.conftest import Within
from tests.jobs.stopping import delivering, until

WAIT_S = 120.0


def slow(road: Postroad) -> tuple[list[str], list[str]]:
    """Register a handler that runs until it is stopped: what has begun, and what was stopped."""
    begun, stopped = list[str](), list[str]()

    @road.handler("slow", timeout=WAIT_S)
    async def slow(message: Message) -> None:
        begun.append(message.id)
        try:
            await asyncio.sleep(WAIT_S)
        except asyncio.CancelledError:
            stopped.append(message.id)
            raise

    return begun, stopped


def test_over_http(tmp_path: Path, within: Within) -> None:
    async def story() -> None:
        async with Stand(tmp_path) as stand:
            begun, stopped = slow(stand.road)
            async with delivering(stand.road):
                id = await stand.send("slow")  # noqa: A001
                await until(lambda: begun)
                asked = {"wait_s": "0"}
                said = await stand.say("DELETE", f"/v1/messages/{id}", query=asked)
                assert said.json()["state"] in ("pending", "sending")
                assert stopped == []
                asked = {"running": "true", "wait_s": "40"}
                said = await stand.say("DELETE", f"/v1/messages/{id}", query=asked)
                assert (said.json()["state"], stopped) == ("cancelled", [id])

    within(story())


def test_by_the_command_and_through_the_window(tmp_path: Path, within: Within) -> None:
    road = Postroad(f"sqlite:///{tmp_path}/road.db")
    begun, stopped = slow(road)
    dsn = ("--dsn", f"sqlite:///{tmp_path}/road.db")

    async def story() -> None:
        async with road, delivering(road), Postroad(f"road:///{tmp_path}/road.db") as far:
            one, other = [(await road.send("slow", n)).id for n in range(2)]
            await until(lambda: len(begun) == 2)
            words = ("message", "cancel", one, "--running", "--wait", "40s", *dsn)
            said = await asyncio.to_thread(postroad, *words)
            assert (said.exit_code, "cancelled" in said.stdout, stopped) == (0, True, [one])
            assert (await far.cancel(other, running=True, wait=40)).state == "cancelled"
            assert stopped == [one, other]

    within(story())


def test_without_await(tmp_path: Path) -> None:
    road = sync.Postroad(f"sqlite:///{tmp_path}/road.db")
    begun, stopped = threading.Event(), threading.Event()

    @road.handler("slow", timeout=WAIT_S)
    def slow(message: Message) -> None:
        begun.set()
        while not message.cancelled:
            assert not stopped.wait(0.01)
        stopped.set()
        raise InterruptedError

    with road:
        run: Callable[[], None] = road.run
        thread = threading.Thread(target=run)
        thread.start()
        try:
            sent = road.send("slow", 1)
            assert begun.wait(WAIT_S)
            assert road.cancel(sent.id, running=True, wait=40).state == "cancelled"
            assert stopped.is_set()
        finally:
            road.stop()
            thread.join(WAIT_S)
