"""Cancel, pause, resume, unblock."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from postroad.model.control import CancelledAll, CancelState
from postroad.model.errors import (
    BadInput,
    NotUncertain,
    StoreUnavailable,
    UnknownMessage,
    UnknownQueue,
)
from postroad.model.ids import to_text
from postroad.model.states import State
from postroad.verbs.cancel_rounds import ROUND_MAX
from tests.rig import receivers
from tests.rig.world import World, simulate
from tests.verbs.cancelling import cancel_races


@pytest.mark.wide
def test_cancels_race_claims_and_none_is_tried_after_its_answer() -> None:
    """With engines that crash, order keys and retries; a thousand in `make proof ITEM=cancel-races`."""
    races, broken = cancel_races(first_seed=1, worlds=10, messages=30)
    assert races >= 300
    assert broken == []


def test_cancel_says_what_became_of_it() -> None:
    """Cancelled, sending, final, unknown; another tenant's message is unknown."""

    async def story(world: World) -> None:
        cancel = world.client.cancel
        world.behaviours["sim://ash/slow"] = receivers.flaky(1.0, seconds=5.0)
        waiting = to_text(await world.send("sim://ash/a", delay=60))
        assert (await cancel(waiting)).state is CancelState.cancelled
        assert (await cancel(waiting)).state is CancelState.cancelled
        other = to_text(await world.send("sim://ash/a", delay=60))
        assert (await cancel(other, tenant="somebody")).state is CancelState.unknown
        member = world.start("one")
        done = to_text(await world.send("sim://ash/a"))
        slow = to_text(await world.send("sim://ash/slow"))
        await asyncio.sleep(1)
        assert (await cancel(done)).state is CancelState.final
        assert (await member.road.cancel(slow)).state is CancelState.sending
        await asyncio.sleep(60)
        # Its try failed, and it was not tried again.
        assert Counter((await world.store.states()).values())[State.cancelled] == 2
        tries = Counter(r.queue for r in world.ledger.book)
        assert tries["sim://ash/slow"] == 1
        with pytest.raises(UnknownMessage):
            await cancel("nonsense")

    simulate(1, story)


def test_messages_that_are_cancelled_at_once_are_asked_about_together() -> None:
    """Each with its own answer; also when who asked for all goes away, and when the store fails."""

    async def story(world: World) -> None:
        asked: list[int] = []
        cancel_in_store = world.store.cancel

        async def counted(
            tenant: str, ids: Sequence[int], *, running: bool = False
        ) -> dict[int, CancelState]:
            asked.append(len(ids))
            if len(asked) == 2 and (asker := asyncio.current_task()):
                asker.cancel()  # another one asks for the whole round again
            await asyncio.sleep(1)
            if world.behaviours:
                raise StoreUnavailable("away")
            return await cancel_in_store(tenant, ids, running=running)

        world.store.cancel = counted  # type: ignore[method-assign]
        ids = [to_text(await world.send("sim://ash/a", delay=60)) for _ in range(ROUND_MAX + 48)]
        calls = [asyncio.create_task(world.client.cancel(one, running=True)) for one in ids]
        stranger = world.client.cancel(ids[0], tenant="somebody")
        await asyncio.wait(calls)
        answers = [
            (call.result().id, call.result().state) for call in calls if not call.cancelled()
        ]
        left = [one for one, call in zip(ids, calls, strict=True) if not call.cancelled()]
        assert answers == [(one, CancelState.cancelled) for one in left]
        assert len(left) == len(ids) - 1
        assert (await stranger).state is CancelState.unknown
        assert asked == [1, ROUND_MAX, ROUND_MAX, 47, 1]
        world.behaviours["sim://ash/a"] = receivers.flaky(1.0)
        failed = await asyncio.gather(*map(world.client.cancel, ids[:9]), return_exceptions=True)
        assert {type(one) for one in failed} == {StoreUnavailable}
        assert asked[5:] == [1, 8]

    simulate(1, story)


def test_cancelling_a_whole_queue_leaves_the_others_alone() -> None:
    """Also by order key."""

    async def story(world: World) -> None:
        for n in range(700):
            await world.send(
                f"sim://ash/{'ab'[n % 2]}", delay=3600, order_key="red" if n < 4 else None
            )
        cancel_all = world.client.cancel_all
        assert await cancel_all("sim://ash/a") == CancelledAll(cancelled=350)
        assert await cancel_all("sim://ash/b", order_key="red") == CancelledAll(cancelled=2)
        assert await cancel_all(order_key="red") == CancelledAll()
        with pytest.raises(UnknownQueue, match=r"no queue 'sim://ash/c' .* mean 'sim://ash/[ab]'"):
            await cancel_all("sim://ash/c")
        assert (await world.store.counts())["waiting"] == 348

    simulate(2, story)


def test_a_paused_queue_is_held_and_counted_and_goes_on_slowly() -> None:
    """What is in flight ends; new ones are accepted; resuming doubles with each success."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(seconds=1.0)
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(5)
        await world.client.pause("sim://ash/a")
        for _ in range(100):
            await world.send("sim://ash/a")
            await world.send("sim://ash/b")
        await asyncio.sleep(3600)
        counts = await world.store.counts()
        assert (counts["held"], counts["delivered"]) == (100, 101)
        await world.client.resume("sim://ash/a")
        resumed_ms = world.clock.now_ms()
        await asyncio.sleep(60)
        assert (await world.store.counts())["delivered"] == 201
        starts = sorted(r.started_ms for r in world.ledger.book if r.started_ms >= resumed_ms)
        first_second = [s for s in starts if s < resumed_ms + 900]
        assert len(first_second) == 1
        with pytest.raises(UnknownQueue, match="no queue"):
            await world.client.pause("sim://ash/nobody")

    simulate(3, story)


def test_a_paused_queue_is_held_although_its_lane_is_busy() -> None:
    """The owner of the lane hears of it while it sends."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(seconds=1.0)
        world.start("one")
        for _ in range(500):
            await world.send("sim://ash/a")
        await asyncio.sleep(2)
        await world.client.pause("sim://ash/a")
        await asyncio.sleep(1.5)
        before = len(world.ledger.book)
        await asyncio.sleep(60)
        assert len(world.ledger.book) == before
        assert before < 400

    simulate(4, story)


def test_a_paused_lane_holds_all_its_queues() -> None:
    """And resumes them."""

    async def story(world: World) -> None:
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(1)
        await world.client.lanes.pause(1)
        await world.send("sim://ash/a")
        await world.send("sim://ash/b")
        await world.send("sim://birch/a")
        await asyncio.sleep(600)
        assert (await world.store.counts())["delivered"] == 2
        await world.client.lanes.resume(1)
        await asyncio.sleep(5)
        assert (await world.store.counts())["delivered"] == 4

    simulate(5, story)


def test_unblocking_tries_at_once() -> None:
    """A queue over quota, and a lane whose circuit is open."""

    async def story(world: World) -> None:
        start_ms = world.clock.now_ms()
        world.behaviours["ash"] = receivers.quota_until(start_ms + 30_000)
        world.behaviours["birch"] = receivers.away_until(start_ms + 30_000)
        world.start("one")
        await world.send("sim://ash/a")
        for n in range(5):
            await world.send(f"sim://birch/{n}")
        await asyncio.sleep(40)
        await world.client.unblock("sim://ash/a")
        await world.client.lanes.unblock(2)
        await asyncio.sleep(2)
        assert (await world.store.counts())["delivered"] == 6
        world.check(await world.store.states())

    simulate(6, story)


@pytest.mark.wide
def test_paused_time_does_not_count_towards_a_spell() -> None:
    """Three days of pause, and a message that may wait two days for its server still lives."""

    async def story(world: World) -> None:
        day_s = 86_400
        world.behaviours["ash"] = receivers.away_until(world.clock.now_ms() + 5 * day_s * 1000)
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(day_s)
        await world.client.lanes.pause(1)
        await asyncio.sleep(3 * day_s)
        await world.client.lanes.resume(1)
        await asyncio.sleep(day_s / 2)
        assert (await world.store.counts())["dead"] == 0

    simulate(7, story)


def test_doubt_is_settled_by_people() -> None:
    """As sent it is delivered; as unsent it is tried again."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.doubtful(1.0)
        world.start("one")
        sent = to_text(await world.send("sim://ash/once"))
        unsent = to_text(await world.send("sim://ash/once"))
        await asyncio.sleep(10)
        world.behaviours["ash"] = receivers.good()
        await world.client.settle(sent, "sent")
        await world.client.settle(unsent, "unsent")
        await asyncio.sleep(10)
        assert set((await world.store.states()).values()) == {State.delivered}
        with pytest.raises(NotUncertain, match="nothing was changed"):
            await world.client.settle(sent, "unsent")
        with pytest.raises(UnknownMessage):
            await world.client.settle(to_text(7), "sent")
        with pytest.raises(BadInput, match="'sent' or as 'unsent'"):
            await world.client.settle(sent, "perhaps")  # type: ignore[arg-type]

    simulate(12, story)


def test_a_message_that_was_answered_sending_is_not_tried_again_after_a_crash() -> None:
    """The owner of its lane dies in the last try; the next one hears of the wish from the store."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/slow"] = receivers.flaky(1.0, seconds=15.0)
        member = world.start("one")
        sent = await world.send("sim://ash/slow")
        await asyncio.sleep(1)
        assert (await member.road.cancel(to_text(sent))).state is CancelState.sending
        world.crash("one")
        world.start("two")
        await asyncio.sleep(3600)
        assert (await world.store.states())[sent] is State.cancelled
        assert Counter(r.queue for r in world.ledger.book)["sim://ash/slow"] <= 1

    simulate(3, story)


def test_cancelling_all_waits_no_longer_in_all_than_it_was_told_to() -> None:
    """The owner of the lane is gone and not yet missed: of several pages none is answered."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/a"] = receivers.flaky(1.0, seconds=15.0)
        world.start("one")
        for _ in range(1_200):
            await world.send("sim://ash/a")
        world.crash("one")
        before_ms = world.clock.now_ms()
        said = await world.client.cancel_all("sim://ash/a", wait=2.0)
        assert world.clock.now_ms() - before_ms < 4_000
        assert said == CancelledAll(pending=1_200)
        world.start("two")
        await asyncio.sleep(3600)  # the wishes are kept
        assert Counter((await world.store.states()).values()) == {State.cancelled: 1_200}

    simulate(4, story)
