"""Endpoints that are read and not called: leases, acks, order, bounds."""

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from postroad import Postroad
from postroad.errors import BadInput, Conflict, Overloaded, UnknownEndpoint
from postroad.model.states import DeadReason, State
from postroad.stores.endpoint_life import EndpointLifeTables
from postroad.verbs import endpoint_feed, waits
from postroad.verbs.endpoint_feed import FeedPage
from tests.api.stand import Stand
from tests.cli.running import data, postroad
from tests.events.feed_consumer import PAGE
from tests.rig.world import World, simulate

ROOT = Path(__file__).parents[2]
URL = "http://127.0.0.1:9/hook"


def ids(page: FeedPage) -> list[str]:
    return [one.id for one in page.messages]


async def publish(road: Postroad, count: int, **options: Any) -> list[str]:
    """Publish so many events to one endpoint; answers their messages."""
    said = [await road.publish("order.paid", {"n": n}, **options) for n in range(count)]
    return [one.messages[0] for one in said]


async def test_what_is_published_is_read_in_order_signed_and_acked(road: Postroad) -> None:
    made = await road.endpoints.create(pull=True, types=("order.*",))
    assert (made.pull, made.url) == (True, "")
    sent = await publish(road, 5)
    first = await road.endpoints.feed(made.id, max=3)
    rest = await road.endpoints.feed(made.id)
    assert ids(first) + ids(rest) == sent
    assert first.lease_ends_at_ms
    one = first.messages[0]
    assert (one.type, one.read, one.event[:4]) == ("order.paid", 0, "evt_")
    assert Webhook(made.secret).verify(one.body, one.headers) == {"n": 0}
    assert (await road.endpoints.feed(made.id)).messages == ()

    assert (await road.endpoints.ack(made.id, sent)).acked == 5
    again = await road.endpoints.ack(made.id, sent[:1])
    assert (again.acked, again.others) == (0, (sent[0],))
    stats = await road.endpoints.stats(made.id)
    assert (stats.total.tries, stats.waiting) == ({"delivered": 5}, 0)
    told = await road.explain(sent[0])
    assert (told.state, told.tries[-1].number) == (State.delivered, 1)


async def test_a_read_that_waits_is_woken_and_asks_no_more_than_it_must(road: Postroad) -> None:
    made = await road.endpoints.create(pull=True, types=("order.*",))
    await road.endpoints.create(pull=True, types=("other",))
    waiting = asyncio.create_task(road.endpoints.feed(made.id, wait=40))
    while not road.store.bell.readers:
        await asyncio.sleep(0.01)
    for n in range(30):
        await road.publish("other", n)
    sent = await publish(road, 1)
    assert ids(await waiting) == sent
    # One look before and one after the bell, each of up to five statements.
    assert road.store.queries["look"] <= 10
    assert road.store.bell.readers == {}
    # No process sends for it: nothing is due for the engine.
    await road.run(until_idle=True)


async def test_what_is_not_acked_comes_again_after_its_lease(road: Postroad) -> None:
    made = await road.endpoints.create(pull=True)
    (number,) = await publish(road, 1)
    assert ids(await road.endpoints.feed(made.id, lease=4)) == [number]
    told = await road.explain(number)
    assert [each.kind for each in told.blocks] == ["leased"]
    assert "It was read, and is not acked." in told.sentence
    again = await road.endpoints.feed(made.id, wait=40)
    assert [(one.id, one.read) for one in again.messages] == [(number, 1)]
    assert (await road.endpoints.ack(made.id, [number])).acked == 1
    assert (await road.explain(number)).tries[-1].number == 2


async def test_an_ordered_feed_gives_nothing_new_before_the_leased_is_acked(
    road: Postroad,
) -> None:
    made = await road.endpoints.create(pull=True, ordered=True)
    sent = await publish(road, 6)
    assert ids(await road.endpoints.feed(made.id, max=3)) == sent[:3]
    assert (await road.endpoints.feed(made.id)).messages == ()
    await road.endpoints.ack(made.id, sent[:2])
    assert (await road.endpoints.feed(made.id)).messages == ()
    await road.endpoints.ack(made.id, sent[2:3])
    assert ids(await road.endpoints.feed(made.id)) == sent[3:]


async def test_two_readers_share_a_feed_and_get_nothing_twice(road: Postroad) -> None:
    made = await road.endpoints.create(pull=True)
    sent = await publish(road, 40)
    reads = [road.endpoints.feed(made.id, max=10, wait=10) for _ in range(4)]
    got = [number for page in await asyncio.gather(*reads) for number in ids(page)]
    while len(got) < len(sent):
        got += ids(await road.endpoints.feed(made.id, max=10))
    assert sorted(got) == sorted(sent)


async def test_only_what_was_read_here_can_be_acked(road: Postroad) -> None:
    mine = await road.endpoints.create(pull=True, types=("mine",))
    theirs = await road.endpoints.create(pull=True, tenant="other")
    unread = (await road.publish("mine", 1)).messages
    said = await road.endpoints.ack(mine.id, unread)
    assert (said.acked, said.others) == (0, unread)
    (foreign,) = await publish(road, 1, tenant="other")
    assert ids(await road.endpoints.feed(theirs.id, tenant="other")) == [foreign]
    assert (await road.endpoints.ack(mine.id, [foreign])).acked == 0
    with pytest.raises(UnknownEndpoint):
        await road.endpoints.feed(theirs.id)
    assert (await road.endpoints.ack(theirs.id, [foreign], tenant="other")).acked == 1


async def test_a_disabled_feed_holds_and_goes_on_when_it_is_enabled(road: Postroad) -> None:
    made = await road.endpoints.create(pull=True)
    await road.endpoints.disable(made.id, reason="not now")
    sent = await publish(road, 2)
    with pytest.raises(Conflict, match=r"disabled \(not now\)"):
        await road.endpoints.feed(made.id)
    await road.endpoints.enable(made.id)
    assert ids(await road.endpoints.feed(made.id)) == sent
    await road.endpoints.delete(made.id)
    assert (await road.explain(sent[0])).state is State.cancelled


async def test_missed_events_are_replayed_into_a_feed(road: Postroad) -> None:
    await road.publish("order.paid", {"n": 0})
    made = await road.endpoints.create(pull=True, ordered=True)
    await road.replays.start("missed", endpoint=made.id)
    run = asyncio.create_task(road.run())
    page = await road.endpoints.feed(made.id, wait=40)
    assert [one.body for one in page.messages] == ['{"n":0}']
    road.stop()
    await run


async def test_a_large_feed_comes_in_pieces(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_feed, "READ_BYTES_MAX", 1_000)
    made = await road.endpoints.create(pull=True, shape="cloudevents")
    for _ in range(4):
        await road.publish("order.paid", {"text": "x" * 400})
    sizes = [len((await road.endpoints.feed(made.id)).messages) for _ in range(4)]
    assert sizes in ([1, 1, 1, 1], [2, 2, 0, 0])
    with monkeypatch.context() as few:
        few.setattr(endpoint_feed, "ENDPOINT_READERS_MAX", 0)
        with pytest.raises(Overloaded):
            await road.endpoints.feed(made.id)
        assert not road.store.bell.readers  # of a read that was refused nothing is left


async def test_readers_of_one_tenant_leave_room_for_others(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "WAITS_MAX", 4)
    feeds = [(await road.endpoints.create(pull=True)).id for _ in range(3)]
    other = (await road.endpoints.create(pull=True, tenant="other")).id
    reading = [asyncio.create_task(road.endpoints.feed(one, wait=40)) for one in feeds[:2]]
    while len(road.store.bell.readers) < 2:
        await asyncio.sleep(0.01)
    with pytest.raises(Overloaded, match="too many reads of feeds"):
        await road.endpoints.feed(feeds[2])
    assert not (await road.endpoints.feed(other, tenant="other")).messages
    await road.publish("order.paid", 1)
    assert [len((await one).messages) for one in reading] == [1, 1]
    assert len((await road.endpoints.feed(feeds[2])).messages) == 1


async def test_bad_input_is_refused_by_name(road: Postroad) -> None:
    made = await road.endpoints.create(pull=True)
    called = await road.endpoints.create(URL)
    wrong: tuple[dict[str, Any], ...] = ({}, {"url": URL, "pull": True})
    for options in wrong:
        with pytest.raises(BadInput, match="give one"):
            await road.endpoints.create(**options)
    called_only: dict[str, Any] = {"headers": {"x-a": "1"}, "rate": "5/s", "timeout": 3}
    for name, value in called_only.items():
        with pytest.raises(BadInput, match=f"{name}: an endpoint that is read"):
            await road.endpoints.create(pull=True, **{name: value})
    with pytest.raises(BadInput, match="give one"):
        await road.endpoints.change(made.id, url=URL)
    with pytest.raises(Conflict, match="has a URL"):
        await road.endpoints.feed(called.id)
    reads: tuple[dict[str, Any], ...] = ({"max": 0}, {"max": 1_001}, {"wait": 41}, {"lease": 0.5})
    for bad in (*reads, {"lease": 3_601}):
        with pytest.raises(BadInput):
            await road.endpoints.feed(made.id, **bad)
    with pytest.raises(BadInput, match="ids"):
        await road.endpoints.ack(made.id, [])
    assert (await road.endpoints.list()).endpoints[1].url == URL


async def test_a_customer_reads_its_feed_over_http_with_its_token(tmp_path: Path) -> None:
    async with Stand(tmp_path) as stand:
        made = (await stand.say("POST", "/v1/endpoints", {"pull": True})).json()
        path = f"/v1/endpoints/{made['id']}"
        assert (await stand.say("GET", path)).json()["pull"] is True
        await stand.say("POST", "/v1/events", {"type": "order.paid", "body": {"n": 1}})
        scopes = ("manage", "bodies")
        token = (await stand.road.tokens.make("shop", scopes=scopes, tenant="default")).secret
        blind = (await stand.road.tokens.make("ops", scopes=("manage",), tenant="default")).secret
        assert (await stand.say("GET", f"{path}/feed", token=blind)).status == 403
        assert (await stand.say("HEAD", f"{path}/feed", token=token)).status == 200
        asked = {"max": "5", "wait": "1", "lease": "9"}
        page = (await stand.say("GET", f"{path}/feed", token=token, query=asked)).json()
        (one,) = page["messages"]
        assert Webhook(made["secret"]).verify(one["body"], one["headers"]) == {"n": 1}
        said = await stand.say("POST", f"{path}/ack", {"ids": [one["id"]]}, token=token)
        assert said.json() == {"acked": 1, "others": []}
        for name, bad in (("max", "0"), ("wait", "41"), ("lease", "0"), ("after", "1")):
            said = await stand.say("GET", f"{path}/feed", token=token, query={name: bad})
            assert said.status == 400, name


async def test_a_remote_road_and_the_command_line_read_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Postroad("sqlite:///road.db") as road, Postroad("road:///road.db") as far:
        made = await far.endpoints.create(pull=True)
        sent = await publish(road, 3)
        assert ids(await far.endpoints.feed(made.id, max=1)) == sent[:1]
        assert (await far.endpoints.ack(made.id, sent[:1])).acked == 1
        where = ("--dsn", "sqlite:///road.db")
        words = ("endpoint", "feed", made.id, "--max", "1", "--ack", *where)
        shown = await asyncio.to_thread(postroad, *words)
        assert shown.stdout.split() == [sent[1], "order.paid", '{"n":1}']
        (last,) = (await asyncio.to_thread(data, "endpoint", "feed", made.id, *where))["messages"]
        done = await asyncio.to_thread(postroad, "endpoint", "ack", made.id, last["id"], *where)
        assert done.stdout == "acked: 1\n"
        more = await asyncio.to_thread(data, "endpoint", "create", "--pull", *where)
        assert more["pull"] is True
        assert (await road.endpoints.stats(made.id)).waiting == 0


def test_what_nobody_reads_is_bounded_by_number_and_age() -> None:
    async def story(world: World) -> None:
        road = world.client
        made = await road.endpoints.create(pull=True)
        await road.endpoints.set_rules(tenant="*", hold_max=3, hold_for_s=86_400)
        sent = await publish(road, 5)
        world.start("one")
        await asyncio.sleep(7_200)
        assert (await road.endpoints.stats(made.id)).waiting == 3
        dead = (await road.dead.list()).messages
        assert {one.id for one in dead} == set(sent[:2])
        assert {one.reason for one in dead} == {DeadReason.excess_held}
        await asyncio.sleep(2 * 86_400)
        reasons = Counter(one.reason for one in (await road.dead.list()).messages)
        assert reasons == {DeadReason.excess_held: 2, DeadReason.expired_held: 3}

    simulate(21, story)


def test_feeds_are_counted_once_an_hour_whatever_else_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, excess = Counter[int](), EndpointLifeTables.endpoint_excess

    async def counted(self: EndpointLifeTables, queue: int, *more: int) -> list[tuple[int, bool]]:
        looks[queue] += 1
        return await excess(self, queue, *more)

    async def story(world: World) -> None:
        for _ in range(3):
            await world.client.endpoints.create(pull=True)
        broken = await world.client.endpoints.create("https://1.1.1.1/x")
        await world.client.endpoints.disable(broken.id)
        world.start("one"), world.start("two")
        await asyncio.sleep(4.5 * 3_600)

    monkeypatch.setattr(EndpointLifeTables, "endpoint_excess", counted)
    simulate(22, story)
    *feeds, broken = [looks[queue] for queue in sorted(looks)]
    assert broken > 2 * 4.5 * 11  # every five minutes
    assert len(feeds) == 3
    assert all(2 * 4 <= count <= 2 * 5 for count in feeds)


async def test_a_consumer_that_is_killed_before_its_ack_loses_nothing(
    road: Postroad, dsn: str, tmp_path: Path
) -> None:
    made = await road.endpoints.create(pull=True)
    sent = await publish(road, 40)
    ledger, file = tmp_path / "ledger", dsn.removeprefix("sqlite:")
    place = dsn if file == dsn else f"road:{file}"
    script = [sys.executable, "-m", "tests.events.feed_consumer", place, made.id, str(ledger)]
    kills = (1, 3)
    for pages in kills:
        done = await asyncio.to_thread(subprocess.run, [*script, str(pages)], cwd=ROOT, check=False)
        assert done.returncode == -9
    last = await asyncio.to_thread(subprocess.Popen, [*script, "0"], cwd=ROOT)
    whole = {"delivered": len(sent)}
    try:
        async with asyncio.timeout(60):  # an ack is counted after it is stored
            while (await road.endpoints.stats(made.id)).total.tries != whole:
                await asyncio.sleep(0.05)
    finally:
        last.kill()
        await asyncio.to_thread(last.wait)
    got = Counter(line.partition(" ")[0] for line in ledger.read_text().splitlines())
    assert set(got) == set(sent)
    assert sum(got.values()) - len(sent) <= PAGE * len(kills)
    assert not (await road.endpoints.stats(made.id)).waiting
