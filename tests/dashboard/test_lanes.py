"""Lanes on their pages and in the API: what is in flight, against the window."""

import asyncio
from pathlib import Path

from postroad import Message
from tests.dashboard.stand import PageStand


async def test_what_is_in_flight_is_told_against_the_window_by_the_process_that_serves(
    tmp_path: Path,
) -> None:
    stand = PageStand(tmp_path)
    begun, go_on = asyncio.Semaphore(0), asyncio.Event()

    @stand.road.handler("slow")
    async def slow(_: Message[int]) -> None:
        begun.release()
        await go_on.wait()

    stand.road.hears_signals = False
    async with stand, asyncio.timeout(60):
        await stand.login()
        await stand.road.send_many([("slow", n) for n in range(3)])
        listed = (await stand.say("GET", "/v1/lanes")).json()["lanes"]
        assert [row["window"] for row in listed] == [None] * len(listed)  # nobody serves them
        running = asyncio.create_task(stand.road.run())
        for _ in range(3):
            await begun.acquire()
        listed = (await stand.say("GET", "/v1/lanes")).json()["lanes"]
        serving = [row for row in listed if row["window"] and row["window"]["in_flight"]]
        assert sum(row["window"]["in_flight"] for row in serving) == 3
        number, window = serving[0]["id"], serving[0]["window"]
        assert window["size"] == stand.road.settings.limits.window_of("handler")
        told = (await stand.say("GET", "/v1/lanes:explain", query={"lane": number})).json()
        assert told["window"] == window
        many, size = window["in_flight"], window["size"]
        first = (await stand.say("GET", "/v1/lanes", query={"limit": 50})).json()["after"]
        pages = [(await stand.get(path)).content for path in ("/lanes", f"/lanes?after={first}")]
        assert f"{many} of {size}" in b"".join(pages).decode()
        page = (await stand.get(f"/lane?id={number}")).content.decode()
        assert f"{many} of a window of {size}" in page
        go_on.set()
        stand.road.stop()
        await running


async def test_of_a_lane_that_another_process_serves_its_owner_is_told(stand: PageStand) -> None:
    await stand.send("good")
    store = stand.road.store
    claimed = await store.claim(await store.join(), (0,), ("handler:good",), 10)
    number = claimed.lanes[0].id
    await stand.login()
    told = (await stand.say("GET", "/v1/lanes:explain", query={"lane": number})).json()
    assert told["window"] is None
    assert told["lane"]["owner"]
    page = (await stand.get(f"/lane?id={number}")).content.decode()
    assert "known to the process that serves it" in page
