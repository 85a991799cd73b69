"""The URL of an endpoint changes to another server: what waits, and what is dead, goes along."""

import asyncio
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.errors import Conflict, UnknownEndpoint
from postroad.stores.sqlite import events
from postroad.verbs import endpoint_moves
from tests.events.moving import MoveStory, move_kills
from tests.servers.postgres import PrivatePostgres
from tests.webhook.conftest import LOCAL, Receiver, end, start

HELD = "/held/200"


@pytest.fixture
def own_receiver(tmp_path: Path) -> Iterator[Receiver]:
    """One with a log of its own."""
    log = tmp_path / "log"
    process, told = start("app_process", str(log))
    yield Receiver(told["port"], log)
    end(process)


def elsewhere(receiver: Receiver, path: str) -> str:
    """The same receiver, by the name of another server."""
    return receiver.url(path).replace("127.0.0.1", "localhost")


def bodies(receiver: Receiver, path: str) -> list[tuple[str, Any]]:
    entries = receiver.got(path)
    return [
        (each["headers"]["host"].split(":")[0], json.loads(b64decode(each["body"])))
        for each in entries
    ]


async def test_what_waits_goes_to_the_other_server_in_its_order(
    road: Postroad, own_receiver: Receiver
) -> None:
    made = await road.endpoints.create("http://127.0.0.1:9/", ordered=True)
    for number in range(5):
        await road.publish("order.paid", number)
    await road.run(until_idle=True)  # nobody listens there: the circuit is open
    moved = await road.endpoints.change(made.id, url=elsewhere(own_receiver, "/status/200"))
    assert (moved.url, moved.queue) == (elsewhere(own_receiver, "/status/200"), made.queue)
    await road.publish("order.paid", 5)
    await road.send(made.queue, 6)  # its sender still knows the old lane
    await road.run(until_idle=True)
    assert bodies(own_receiver, "/status/200") == [("localhost", number) for number in range(7)]
    lanes = {lane.server for lane in (await road.inspect.lanes()).lanes}
    assert lanes == {moved.url.removesuffix("/status/200")}  # the old one served nobody else


async def test_the_dead_are_replayed_on_the_other_server(
    road: Postroad, own_receiver: Receiver
) -> None:
    made = await road.endpoints.create(own_receiver.url("/status/400"), reject=(400,))
    died = await road.publish("order.paid", 1)
    await road.run(until_idle=True)
    assert (await road.explain(died.messages[0])).state == "dead"
    await road.endpoints.change(made.id, url=elsewhere(own_receiver, "/status/200"))
    await road.dead.replay(ids=list(died.messages))
    await road.run(until_idle=True)
    assert bodies(own_receiver, "/status/200") == [("localhost", 1)]


async def test_a_try_that_is_under_way_ends_first_and_is_not_repeated(
    road: Postroad, own_receiver: Receiver
) -> None:
    made = await road.endpoints.create(own_receiver.url(HELD), ordered=True)
    for number in range(3):
        await road.publish("order.paid", number)
    running = asyncio.create_task(road.run())
    while not own_receiver.got(HELD):
        await asyncio.sleep(0.02)
    url = elsewhere(own_receiver, "/status/200")
    changing = asyncio.create_task(road.endpoints.change(made.id, url=url))
    moved, _ = await asyncio.wait({changing}, timeout=0.3)
    assert not moved
    own_receiver.release()
    await changing
    await road.publish("order.paid", 3)
    while ("localhost", 3) not in bodies(own_receiver, "/status/200"):
        await asyncio.sleep(0.02)
    road.stop()
    await running
    # Each where it was tried; the owner may have begun another one before it heard of the move.
    old, new = bodies(own_receiver, HELD), bodies(own_receiver, "/status/200")
    assert old[0] == ("127.0.0.1", 0)
    assert [number for _, number in (*old, *new)] == list(range(4))


async def test_without_the_wait_for_the_owner_a_try_under_way_is_repeated(
    tmp_path: Path, own_receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the wait is for: here the lane is taken from its owner at once."""
    move = events._move

    def at_once(db: Any, row: Any, hook: Any, key: Any, now_ms: int) -> Any:
        db.run("lane_free", db.all("queue_lanes", row.queue)[0][0])
        return move(db, row, hook, key, now_ms)

    monkeypatch.setattr(events, "_move", at_once)
    async with Postroad(f"sqlite:///{tmp_path}/r.db", settings=Settings(webhooks=LOCAL)) as road:
        made = await road.endpoints.create(own_receiver.url(HELD), ordered=True)
        await road.publish("order.paid", 0)
        running = asyncio.create_task(road.run())
        while not own_receiver.got(HELD):
            await asyncio.sleep(0.02)
        await road.endpoints.change(made.id, url=elsewhere(own_receiver, "/status/200"))
        while not own_receiver.got("/status/200"):
            await asyncio.sleep(0.02)
        own_receiver.release()
        road.stop()
        await running


async def test_neighbours_on_the_old_server_stay_there(
    road: Postroad, own_receiver: Receiver
) -> None:
    url = own_receiver.url("/status/200")
    made, other = [await road.endpoints.create(url, channels=(name,)) for name in "ab"]
    running = asyncio.create_task(road.run())
    await road.publish("order.paid", 1, channels=("a", "b"))
    await road.endpoints.change(made.id, url=elsewhere(own_receiver, "/status/200"))
    await road.publish("order.paid", 2, channels=("a", "b"))
    while len(bodies(own_receiver, "/status/200")) < 4:
        await asyncio.sleep(0.02)
    road.stop()
    await running
    assert (await road.endpoints.get(other.id)).url == url
    assert ("localhost", 2) in bodies(own_receiver, "/status/200")
    assert ("127.0.0.1", 2) in bodies(own_receiver, "/status/200")


async def test_a_move_that_waits_too_long_changes_nothing(
    road: Postroad, own_receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_moves, "MOVE_S", 0.3)
    url = own_receiver.url(HELD)
    made = await road.endpoints.create(url)
    await road.publish("order.paid", 1)
    running = asyncio.create_task(road.run())
    while not own_receiver.got(HELD):
        await asyncio.sleep(0.02)
    with pytest.raises(Conflict, match="nothing was changed"):
        await road.endpoints.change(made.id, url=elsewhere(own_receiver, "/status/200"))
    assert (await road.endpoints.get(made.id)).url == url
    with pytest.raises(UnknownEndpoint):
        await road.endpoints.change(made.id, url="http://localhost:9/", tenant="other")
    own_receiver.release()
    road.stop()
    await running


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.wide)])
def test_order_is_kept_and_nothing_lost_while_movers_and_workers_are_killed(
    store: str, tmp_path: Path, own_receiver: Receiver
) -> None:
    if store == "sqlite":
        dsn, story = f"sqlite:///{tmp_path}/road.db", MoveStory(60, 3, 1, seed=3)
        report = move_kills(dsn, own_receiver, tmp_path, story)
    else:
        with PrivatePostgres() as server:
            story = MoveStory(60, 4, 3, seed=4)
            report = move_kills(server.create_road(), own_receiver, tmp_path, story)
    assert report.breaches == []
    assert report.moves >= 2
