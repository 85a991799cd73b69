"""Replays: one more try or the ladder again, in one transaction, while the engine runs."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.model.errors import BadInput, NotDead, UnknownMessage, UnknownQueue
from postroad.model.ids import to_text
from postroad.model.limits import Limits
from postroad.model.outcome import rejected
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.receivers import QUICK
from tests.rig.world import World, simulate
from tests.verbs.dying import as_tenant, die, ids_of, now_of, tries_of
from tests.verbs.replaying import replay_chains

DAY_S = 86_400


@pytest.mark.parametrize("mode", ["once", "reset"])
@pytest.mark.wide
def test_replay_while_the_engine_runs_gives_each_exactly_one_more_chain(mode: str) -> None:
    """By filters that overlap, by count and by ids at once: one more try, or the ladder again."""
    replayed, broken = replay_chains(seed=4, count=150, mode=mode)
    assert broken == []
    assert replayed == 150


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


@pytest.mark.wide
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


def test_an_ordered_message_goes_to_the_end_of_its_order_group() -> None:
    """Several of one order group come back in the order they were accepted in."""

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
def test_an_exhausted_head_that_holds_its_order_group_is_replayed_in_place(mode: str) -> None:
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
    """Exhausted heads hold their order groups, for whoever makes a queue."""
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
            with pytest.raises(
                UnknownQueue, match=r"no queue 'sim://ash/aa'.* mean 'sim://ash/a'\?"
            ):
                await change(queue="sim://ash/aa")
            with pytest.raises(BadInput, match=r"there is no quue=: did you mean 'queue'\?"):
                await change(quue="sim://ash/a")  # type: ignore[call-arg]
            assert await change(queue="sim://ash/b") == 0
        assert ids_of(await dead.list()) == [good]
        assert await dead.replay(ids=[good, good]) == 1
        assert await dead.replay(ids=[foreign], tenant="acme") == 1

    simulate(10, story)


@pytest.mark.parametrize("order_key", ["", "o"])
@pytest.mark.parametrize("mode", ["once", "reset"])
def test_what_is_replayed_while_its_old_try_is_under_way_is_tried_again(
    mode: str, order_key: str
) -> None:
    """That try fails for good; the new life has its own tries, also on a lane with other work."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/a"] = lambda _now_ms, _draw: (15.0, False, rejected("410"))
        world.start("one")
        deadline = now_of(world) + timedelta(seconds=5)
        sent = await world.send("sim://ash/a", expires_at=deadline, order_key=order_key or None)
        await asyncio.sleep(7)
        number = to_text(sent)
        assert (await world.client.dead.show(number)).message.reason == "expired"
        assert await world.client.dead.replay(ids=[number], mode=mode) == 1
        world.behaviours["sim://ash/a"] = receivers.good()
        for _ in range(30):
            await world.send("sim://ash/b")
            await asyncio.sleep(1)
        told = await world.client.explain(number)
        assert told.state is State.delivered, told
        assert [t.outcome for t in told.tries] == ["rejected", "delivered"]
        assert len(tries_of(world, number)) == 2

    simulate(17, story)
