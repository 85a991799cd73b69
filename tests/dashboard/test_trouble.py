"""What is in trouble is seen first, behind however many that are not."""

from postroad.model.entities import LaneKey, Policy, QueueSpec
from postroad.model.facts import COUNTED_MAX
from tests.dashboard.stand import PageStand

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
