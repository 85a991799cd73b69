"""What is in trouble is seen first, behind however many that are not."""

from pathlib import Path

import pytest

from bench.pages_road import Scale, make_queues
from postroad import Postroad
from postroad.model.entities import LaneKey, Policy, QueueSpec
from postroad.model.facts import COUNTED_MAX
from postroad.stores.overview import LOOKED_AT
from postroad.verbs.parts import Parts
from postroad.verbs.running import LiveEngine
from tests.dashboard.stand import PageStand
from tests.webhook_requests.conftest import ShiftedClock

QUEUES = 250
URL = "https://hooks.example.com/a"


async def make(stand: PageStand) -> list[int]:
    """Make many queues, each with a lane of its own; the numbers of the lanes."""
    specs = [
        QueueSpec("default", f"queue-{n:04}", LaneKey("handler", f"s{n}"), 1, Policy())
        for n in range(QUEUES)
    ]
    return [queue.lanes[0] for queue in await stand.road.store.open_queues(specs)]


async def test_the_overview_tells_of_the_last_queue_and_the_last_lane(stand: PageStand) -> None:
    lanes = await make(stand)
    await stand.login()
    await stand.road.lanes.pause(lanes[-1])
    await stand.road.pause(f"queue-{QUEUES - 2:04}")
    shown = (await stand.get("/", {"postroad-region": "trouble"})).content.decode()
    assert f"/lane?id={lanes[-1]}" in shown
    assert "is paused: no try starts on any of its queues." in shown
    assert f"queue-{QUEUES - 2:04}" in shown
    assert shown.count("<li>") == 2


async def test_lanes_in_trouble_come_first(stand: PageStand) -> None:
    lanes = await make(stand)
    await stand.road.lanes.pause(lanes[-1])
    await stand.login()
    shown = (await stand.get("/lanes")).content.decode()
    first, rest = shown.index(f"/lane?id={lanes[-1]}"), shown.index("All lanes")
    assert first < rest
    assert f"/lane?id={lanes[-1]}" not in shown[rest:]  # that is on a later page
    await stand.post("/lanes/resume", lane=str(lanes[-1]))
    assert "In trouble" not in (await stand.get("/lanes")).content.decode()


async def test_where_nothing_is_in_trouble_it_says_for_how_long_it_has_looked(
    stand: PageStand,
) -> None:
    await stand.login()
    assert b"Nothing was sent yet" in (await stand.get("/")).content
    await stand.send("good")
    await stand.road.run(until_idle=True)
    await stand.post("/queues/resume", queue="good")  # what is shown is forgotten
    shown = (await stand.get("/", {"postroad-region": "trouble"})).content.decode()
    assert "nothing has died in the last hour" in shown


async def test_levels_of_which_only_some_queues_were_looked_at_say_so(stand: PageStand) -> None:
    lanes = LOOKED_AT + 20
    await make_queues(stand.road, Scale(lanes=lanes))
    await stand.login()
    levels = (await stand.say("GET", "/v1/levels", query={"most": COUNTED_MAX})).json()
    assert not levels[0]["whole"]
    shown = (await stand.get("/", {"postroad-region": "levels"})).content.decode()
    assert f'<td class="num">{levels[0]["waiting"]}+</td>' in shown
    assert f"Backlog by retry level: {levels[0]['waiting']}+ waiting, 0+ held" in shown
    shown = (await stand.get("/", {"postroad-region": "trouble"})).content.decode()
    assert f"{levels[0]['waiting']}+ messages</a> are due for more than a minute" in shown
    levels = (await stand.say("GET", "/v1/levels")).json()
    assert (levels[0]["whole"], levels[0]["waiting"]) == (True, lanes)


async def test_a_figure_that_was_not_counted_to_the_end_says_so(stand: PageStand) -> None:
    await stand.road.send_many([(URL, n) for n in range(COUNTED_MAX + 1)])
    await stand.login()
    tiles = (await stand.get("/", {"postroad-region": "states"})).content.decode()
    assert '10\u2009000<span class="least">+</span>' in tiles
    listed = (await stand.get("/queues")).content.decode()
    row = listed[listed.index(f'data-key="{URL}"') :].partition("</tr>")[0]
    assert "10\u2009000+" in row
    await stand.road.pause(URL)
    shown = (await stand.get("/", {"postroad-region": "trouble"})).content.decode()
    assert "has 10\u2009000 or more messages that cannot go" in shown
    told = await stand.road.explain_queue(URL)
    assert f"at least {COUNTED_MAX}" in told.sentence
    whole = await stand.road.inspect.overview()
    assert sum(one.count for one in whole.counts) == COUNTED_MAX + 1


async def test_statements_of_a_level_are_told_by_the_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ShiftedClock()
    road = Postroad(f"sqlite:///{tmp_path}/road.db", parts=Parts(clock=clock))
    monkeypatch.setattr(type(road.store), "queries", property(lambda _: {"level 2": 300}))
    monkeypatch.setattr(LiveEngine, "age_s", lambda _: clock.shift_s)
    async with road:
        rates = [row.queries_per_hour for row in await road.inspect.levels()]
        assert rates == [0, 0, 300, 0, 0, 0, 0]  # those so far
        clock.shift_s = 100 * 3_600.0
        assert (await road.inspect.levels())[2].queries_per_hour == 3
