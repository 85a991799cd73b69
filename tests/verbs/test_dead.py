"""The dead set: pages, filters, replays, purges, retention."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.model.dead import Page
from postroad.model.errors import BadInput, BadTime, NotDead, UnknownMessage
from postroad.model.ids import to_text
from postroad.model.limits import Limits
from postroad.model.outcome import failed, rejected
from postroad.model.states import State
from postroad.testing import receivers
from postroad.testing.receivers import QUICK
from postroad.testing.world import World, simulate
from tests.verbs.replaying import replay_chains

DAY_S = 86_400


def now_of(world: World) -> datetime:
    """The simulated time."""
    return datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC)


def ids_of(page: Page) -> list[str]:
    return [message.id for message in page.messages]


async def die(world: World, queue: str, error: str = "410", **options: Any) -> str:
    """A message that is rejected at once."""
    if "one" not in world.members:
        world.start("one")
    world.behaviours[queue] = lambda _now_ms, _draw: (0.01, False, rejected(error, status=410))
    number = await world.send(queue, **options)
    while (await world.store.states())[number] is not State.dead:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return to_text(number)


def tries_of(world: World, *ids: str) -> list[tuple[str, int]]:
    """Tries of these messages in order: id and level."""
    book = [(to_text(r.message), r.level) for r in world.ledger.book]
    return [entry for entry in book if entry[0] in ids]


async def as_tenant(world: World, tenant: str, queue: str) -> str:
    """A tenant's message that is rejected."""
    world.behaviours[queue] = receivers.rejecting(1.0)
    receipt = await world.client.send(queue, 1, tenant=tenant)
    await asyncio.sleep(5)
    return receipt.id


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
        assert await found(queue="sim://nobody/a") == []

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


@pytest.mark.parametrize("mode", ["once", "reset"])
def test_replay_while_the_engine_runs_gives_each_exactly_one_more_chain(mode: str) -> None:
    """By filters that overlap, by count and by ids at once: one more try, or the ladder again."""
    replayed, broken = replay_chains(seed=4, count=500, mode=mode)
    assert broken == []
    assert replayed == 500


def test_a_replay_by_count_takes_the_longest_dead_and_a_dry_run_takes_none() -> None:
    """The counts agree."""

    async def story(world: World) -> None:
        ids = [await die(world, "sim://ash/a") for _ in range(5)]
        world.behaviours["sim://ash/a"] = receivers.good()
        dead = world.client.dead
        assert await dead.replay(count=2, dry_run=True) == 2
        assert await dead.replay(queue="sim://ash/a", dry_run=True) == 5
        assert await dead.purge(queue="sim://ash/a", dry_run=True) == 5
        assert len((await dead.list()).messages) == 5
        assert await dead.replay(count=2) == 2
        await asyncio.sleep(1)
        assert ids_of(await dead.list()) == ids[:1:-1]
        assert await dead.replay(count=100, queue="sim://ash/a") == 3
        await asyncio.sleep(1)
        assert (await world.store.counts())["delivered"] == 5
        assert await dead.replay(count=1) == 0

    simulate(5, story)


def test_a_replayed_message_has_no_deadline_any_more_and_keeps_its_log() -> None:
    """Numbers of tries go on where they were."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.quota_until(world.clock.now_ms() + 300_000)
        world.start("one")
        deadline = now_of(world) + timedelta(seconds=60)
        number = to_text(await world.send("sim://ash/a", expires_at=deadline))
        await asyncio.sleep(61)
        assert (await world.client.dead.show(number)).message.reason == "expired"
        assert await world.client.dead.replay(ids=[number], mode="reset") == 1
        await asyncio.sleep(3600)
        told = await world.client.explain(number)
        assert told.state is State.delivered
        assert [t.number for t in told.tries] == list(range(1, len(told.tries) + 1))
        assert len(told.tries) == len(tries_of(world, number)) >= 2

    simulate(6, story)


def test_what_died_of_a_spell_is_tried_when_the_block_of_its_queue_ends() -> None:
    """A sweep does not take it again before: it has waited from its replay on."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.quota_until(world.clock.now_ms() + 8 * DAY_S * 1000)
        world.start("one")
        number = to_text(await world.send("sim://ash/a"))
        await asyncio.sleep(7 * DAY_S + 1200)
        assert (await world.client.dead.show(number)).message.reason == "expired_quota"
        # Somebody else keeps the queue in its spell.
        await world.send("sim://ash/a")
        await asyncio.sleep(60)
        assert await world.client.dead.replay(ids=[number]) == 1
        await asyncio.sleep(2 * DAY_S)
        assert (await world.client.explain(number)).state is State.delivered

    simulate(7, story)


@pytest.mark.parametrize("mode", ["once", "reset"])
def test_what_expired_while_it_was_read_ahead_is_tried_in_its_turn(mode: str) -> None:
    """Also on a lane that is never without work: the engine forgets its former life."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(1.0)
        world.start("one")
        for _ in range(20):
            await world.send("sim://ash/a")
        number = await world.send("sim://ash/a", expires_at=now_of(world) + timedelta(seconds=5))
        await asyncio.sleep(6)
        assert await world.client.dead.replay(ids=[to_text(number)], mode=mode) == 1
        for _ in range(60):
            await world.send("sim://ash/a")
            await asyncio.sleep(0.9)
        assert [r.handled for r in world.ledger.book if r.message == number] == [True]

    simulate(14, story, Limits(window=1))


def test_an_ordered_message_goes_to_the_end_of_its_slot() -> None:
    """Several of one slot come back in the order they were accepted in."""

    async def story(world: World) -> None:
        queue = "sim://ash/a"
        first = await die(world, queue, order_key="red")
        second = await die(world, queue, order_key="red")
        world.behaviours[queue] = receivers.good(1.0)
        waiting = [to_text(await world.send(queue, order_key="red")) for _ in range(2)]
        assert await world.client.dead.replay(ids=[second, first]) == 2
        before = len(world.ledger.book)
        await asyncio.sleep(30)
        after = [to_text(r.message) for r in world.ledger.book[before:]]
        assert after == [*waiting, first, second]

    simulate(8, story)


@pytest.mark.parametrize("mode", ["once", "reset"])
def test_an_exhausted_head_that_holds_its_slot_is_replayed_in_place(mode: str) -> None:
    """It is held and not dead; what waits behind it goes after it."""

    async def story(world: World) -> None:
        hold(world)
        queue, dead = "sim://ash/a", world.client.dead
        world.behaviours["ash"] = receivers.flaky(1.0)
        world.start("one").receivers._policy = replace(QUICK, skip_exhausted=False)
        head, behind = [to_text(await world.send(queue, order_key="k")) for _ in range(2)]
        await asyncio.sleep(600)
        assert (await world.client.explain(head)).state is State.held
        assert (await world.client.explain(behind)).next.after == head
        assert (await dead.list()).messages == ()
        assert await dead.replay(queue=queue) == 0
        with pytest.raises(NotDead, match="not finished, not dead"):
            await dead.replay(ids=[behind])
        tried = len(world.ledger.book)
        assert await dead.replay(ids=[head], mode=mode, dry_run=True) == 1
        assert await dead.replay(ids=[head], mode=mode) == 1
        await asyncio.sleep(600)
        again = tries_of(world, head, behind)[tried:]
        levels = [4] if mode == "once" else [0, 1, 2, 3, 4]
        assert again == [(head, level) for level in levels]
        assert (await world.client.explain(head)).state is State.held
        world.behaviours["ash"] = receivers.good()
        assert await dead.replay(ids=[head]) == 1
        await asyncio.sleep(5)
        assert [r.message for r in world.ledger.book if r.handled] == [
            r.message for r in world.ledger.book[-2:]
        ]
        assert (await world.client.explain(behind)).state is State.delivered

    simulate(9, story)


def hold(world: World) -> None:
    """Exhausted heads hold their slots, for whoever makes a queue."""
    sim: Any = world.client._transports["sim"]
    sim._policy = replace(QUICK, skip_exhausted=False)


def test_a_replay_of_something_else_changes_nothing_and_says_what_it_is() -> None:
    """Waiting, delivered, unknown, another tenant's: not even the good ones of the list go."""

    async def story(world: World) -> None:
        dead, good = world.client.dead, await die(world, "sim://ash/a")
        waiting = to_text(await world.send("sim://ash/b", delay=3600))
        done = to_text(await world.send("sim://ash/c"))
        foreign = await as_tenant(world, "acme", "sim://ash/d")
        nobody = "msg_0000000000001"
        for change in (dead.replay, dead.purge):
            with pytest.raises(NotDead, match="is not finished, not dead: nothing was changed"):
                await change(ids=[good, waiting])
            with pytest.raises(NotDead, match="is delivered"):
                await change(ids=[good, done], dry_run=True)
            for unknown in (foreign, nobody):
                with pytest.raises(UnknownMessage, match="not in the dead set, and nowhere"):
                    await change(ids=[good, unknown])
            with pytest.raises(UnknownMessage, match="not a message id"):
                await change(ids=["7"])
            assert await change(ids=[]) == 0
            assert await change(queue="sim://nobody/x") == 0
        assert ids_of(await dead.list()) == [good]
        assert await dead.replay(ids=[good, good]) == 1
        assert await dead.replay(ids=[foreign], tenant="acme") == 1

    simulate(10, story)


BAD: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda dead: dead.list(limit=0), BadInput, "1 to 1000"),
    (lambda dead: dead.list(limit=1001), BadInput, "1 to 1000"),
    (lambda dead: dead.list(after="zzz"), BadInput, "not a cursor"),
    (lambda dead: dead.list(after="1.msg_short"), BadInput, "not a cursor"),
    (lambda dead: dead.list(after="f" * 40 + ".msg_0000000000001"), BadInput, "not a cursor"),
    (lambda dead: dead.list(reason="tired"), BadInput, "one of rejected, exhausted"),
    (lambda dead: dead.list(since=datetime(2026, 1, 1)), BadTime, "time zone"),  # noqa: DTZ001
    (lambda dead: dead.replay(), BadInput, "say which"),
    (lambda dead: dead.purge(tenant="default"), BadInput, "say which"),
    (lambda dead: dead.replay(ids="msg_0000000000001"), BadInput, "a list of ids"),
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
        with pytest.raises(UnknownMessage, match="forgotten"):
            await world.client.explain(ids[0])
        assert await dead.purge(ids=[ids[2]]) == 1
        assert ids_of(await dead.list()) == [ids[1]]
        assert await dead.purge(reason="rejected") == 1
        rows = await world.store._read(
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
