"""The dead set: pages, filters, replays, purges, retention."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postroad.model.errors import BadCursor, BadInput, BadTime, UnknownMessage, UnknownQueue
from postroad.model.ids import to_text
from postroad.model.limits import Limits
from postroad.model.outcome import failed
from tests.rig import receivers
from tests.rig.world import World, simulate
from tests.verbs.dying import as_tenant, die, ids_of, now_of


def test_pages_go_from_the_latest_death_back_and_miss_nothing() -> None:
    """Also while others die, and when many died at the same moment."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.rejecting(1.0)
        world.start("one")
        first = {to_text(await world.send(f"sim://ash/{n % 3}")) for n in range(25)}
        await asyncio.sleep(5)
        seen: list[str] = []
        page = await world.client.dead.list(limit=7)
        while True:
            seen += ids_of(page)
            if not page.after:
                break
            await die(world, "sim://ash/late")
            page = await world.client.dead.list(limit=7, after=page.after)
        assert len(seen) == len(first) == 25
        assert set(seen) == first
        every = (await world.client.dead.list()).messages
        deaths = [message.died_at_ms for message in every]
        assert deaths == sorted(deaths, reverse=True)
        assert len(every) == 28

    simulate(1, story)


def test_each_filter_finds_its_own_and_all_together_narrow_it() -> None:
    """Queue, reason, error text in whatever case, time, tenant."""

    async def story(world: World) -> None:
        gone = await die(world, "sim://ash/a", "410 Gone Away")
        await asyncio.sleep(60)
        middle = now_of(world)
        await asyncio.sleep(60)
        world.behaviours["sim://ash/b"] = receivers.quota_until(world.clock.now_ms() + 10**9)
        expired = to_text(
            await world.send("sim://ash/b", expires_at=now_of(world) + timedelta(seconds=5))
        )
        await asyncio.sleep(10)
        other = await die(world, "sim://birch/a", "410 100% Gone")
        foreign = await as_tenant(world, "acme", "sim://ash/acme")
        dead = world.client.dead

        async def found(**where: Any) -> list[str]:
            return ids_of(await dead.list(**where))

        assert await found() == [other, expired, gone]
        assert await found(queue="sim://ash/a") == [gone]
        assert await found(reason="expired") == [expired]
        assert await found(error="gone") == [other, gone]
        assert await found(error="0% g") == [other]
        assert await found(since=middle) == [other, expired]
        assert await found(until=middle) == [gone]
        assert await found(tenant="acme") == [foreign]
        assert await found(tenant=None) == [foreign, other, expired, gone]
        assert await found(error="gone", until=middle, reason="rejected") == [gone]
        assert await found(error="gone", reason="expired") == []
        with pytest.raises(UnknownQueue, match="did you mean 'sim://birch/a'"):
            await found(queue="sim://nobody/a")

    simulate(2, story)


def test_show_has_all_that_was_sent_and_all_that_was_tried() -> None:
    """Every try with its time, level, outcome, status, error and duration."""

    async def story(world: World) -> None:
        answers = [failed("500 no", status=500), failed("502 no", status=502)] * 3
        world.behaviours["ash"] = lambda _now_ms, _draw: (0.25, False, answers.pop(0))
        world.start("one")
        receipt = await world.client.send("sim://ash/a", {"n": 7}, headers={"x": "y"}, priority=3)
        await asyncio.sleep(600)
        letter = await world.client.dead.show(receipt.id)
        message = letter.message
        assert (letter.body, letter.headers) == (b'{"n":7}', {"x": "y"})
        assert (message.id, message.queue, message.tenant) == (receipt.id, "sim://ash/a", "default")
        assert (message.reason, message.error, message.status) == ("exhausted", "500 no", 500)
        assert (message.level, message.attempts, message.priority) == (4, 5, 3)
        assert [(t.number, t.level) for t in letter.tries] == [(n + 1, n) for n in range(5)]
        assert [t.status for t in letter.tries] == [500, 502, 500, 502, 500]
        assert {t.took_ms for t in letter.tries} == {250}
        assert {t.outcome for t in letter.tries} == {"failed"}
        starts = [t.started_at_ms for t in letter.tries]
        assert starts == [r.started_ms for r in world.ledger.book]
        assert message.died_at_ms >= starts[-1] + 250
        with pytest.raises(UnknownMessage, match="not in the dead set"):
            await world.client.dead.show(receipt.id, tenant="acme")
        with pytest.raises(UnknownMessage, match="not a message id"):
            await world.client.dead.show("nonsense")

    simulate(3, story)


MAY, JUNE = (datetime(2026, month, 1, tzinfo=UTC) for month in (5, 6))
BAD: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda dead: dead.list(limit=0), BadInput, "1 to 1000"),
    (lambda dead: dead.list(limit=1001), BadInput, "1 to 1000"),
    (lambda dead: dead.list(after="zzz"), BadInput, "not a cursor"),
    (lambda dead: dead.list(after="1.msg_short"), BadInput, "not a cursor"),
    (lambda dead: dead.list(after="f" * 40 + ".msg_0000000000001"), BadInput, "not a cursor"),
    (lambda dead: dead.list(after="1.msg_0000000000001.0123456789ab"), BadCursor, "other filters"),
    (lambda dead: dead.list(since=JUNE, until=MAY), BadTime, "the earlier time as since"),
    (lambda dead: dead.purge(since=JUNE, until=MAY), BadTime, "the earlier time as since"),
    (lambda dead: dead.list(queue="sim://ash/b"), UnknownQueue, "did you mean 'sim://ash/a'"),
    (lambda dead: dead.list(queue=""), BadInput, "queue is empty"),
    (lambda dead: dead.purge(error=""), BadInput, "error is empty"),
    (lambda dead: dead.list(reason="tired"), BadInput, "one of rejected, exhausted"),
    (lambda dead: dead.list(since=datetime(2026, 1, 1)), BadTime, "time zone"),  # noqa: DTZ001
    (lambda dead: dead.replay(), BadInput, "say which"),
    (lambda dead: dead.purge(tenant="default"), BadInput, "say which"),
    (lambda dead: dead.replay(ids="msg_0000000000001"), BadInput, "ids= is a str: give a list"),
    (lambda dead: dead.replay(ids=[], queue="a"), BadInput, "leave out queue"),
    (lambda dead: dead.replay(ids=[], count=1), BadInput, "leave out count"),
    (lambda dead: dead.replay(count=0), BadInput, "one or more"),
    (lambda dead: dead.replay(count=1, mode="twice"), BadInput, "'once' for one more try"),
]


@pytest.mark.parametrize(("ask", "error", "words"), BAD)
def test_a_bad_question_is_refused_by_name(
    ask: Callable[[Any], Any], error: type[Exception], words: str
) -> None:
    """And everything is never meant by leaving something out."""

    async def story(world: World) -> None:
        await die(world, "sim://ash/a")
        with pytest.raises(error, match=words):
            await ask(world.client.dead)
        assert (await world.store.counts())["dead"] == 1

    simulate(11, story)


def test_purge_forgets_for_ever_with_the_tries() -> None:
    """By the same filters as a replay."""

    async def story(world: World) -> None:
        dead = world.client.dead
        ids = [await die(world, f"sim://ash/{name}") for name in "aab"]
        assert await dead.purge(queue="sim://ash/a", count=1) == 1
        with pytest.raises(UnknownMessage, match="deleted for its age"):
            await world.client.explain(ids[0])
        assert await dead.purge(ids=[ids[2]]) == 1
        assert ids_of(await dead.list()) == [ids[1]]
        assert await dead.purge(reason="rejected") == 1
        rows = await world.store.read(
            "test", lambda db: db.connection.execute("select * from attempt").fetchall()
        )
        assert rows == []

    simulate(12, story)


def test_retention_keeps_so_many_and_the_longest_dead_go_first() -> None:
    """However long ago they were accepted."""

    async def story(world: World) -> None:
        queue = "sim://ash/last"
        world.behaviours[queue] = receivers.rejecting(1.0)
        oldest = to_text(await world.send(queue, delay=1800))
        for _ in range(8):
            await die(world, "sim://ash/a")
        await asyncio.sleep(1900)
        assert len((await world.client.dead.list()).messages) == 9
        await asyncio.sleep(3600)
        kept = await world.client.dead.list()
        assert len(kept.messages) == 5
        assert ids_of(kept)[0] == oldest

    simulate(13, story, Limits(dead_max=5))
