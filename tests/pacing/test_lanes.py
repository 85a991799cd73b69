"""Lanes and queues with limits, in simulated time: the real engine on the real store."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from postroad.model.control import CancelState
from postroad.model.entities import Lane
from postroad.model.errors import StoreUnavailable
from postroad.model.ids import to_text
from postroad.model.limits import Limits
from postroad.model.pace import Ask, Reserved, read_limit
from postroad.model.states import State
from tests.pacing.windows import breaches
from tests.rig import receivers
from tests.rig.world import World, simulate

LIMITED, FREE = "sim://ash/limited", "sim://ash/free"


def starts(world: World, prefix: str = "sim://") -> list[float]:
    """When tries started, in seconds."""
    return sorted(r.started_ms / 1000 for r in world.ledger.book if r.queue.startswith(prefix))


def broken(world: World, rate: str, prefix: str = "sim://") -> list[str]:
    return breaches(read_limit(rate), [(at_s * 1e6, 1) for at_s in starts(world, prefix)])


async def fill(world: World, queue: str, count: int) -> list[int]:
    return [await world.send(queue) for _ in range(count)]


async def lane_of(world: World, queue: str) -> int:
    return (await world.client.explain_queue(queue)).lanes[0].id


def test_a_limited_queue_keeps_to_it_and_holds_up_nobody_else_on_its_lane() -> None:
    async def story(world: World) -> None:
        await fill(world, LIMITED, 200)
        await world.client.limit(LIMITED, "10/s")
        world.start("one")
        await asyncio.sleep(2)
        await fill(world, FREE, 100)
        sent_s = world.clock.now_ms() / 1000
        await asyncio.sleep(1)
        assert len(starts(world, FREE)) == 100
        assert max(starts(world, FREE)) < sent_s + 1
        world.check(await world.settled(within_s=60))
        assert broken(world, "10/s", LIMITED) == []
        took_s = starts(world, LIMITED)[-1] - starts(world, LIMITED)[0]
        assert 199 / took_s > 0.9 * 10

    simulate(1, story)


def test_queues_of_a_limited_lane_share_it() -> None:
    async def story(world: World) -> None:
        await fill(world, LIMITED, 300)
        await fill(world, FREE, 60)
        await world.client.limit(await lane_of(world, FREE), "20/s")
        world.start("one")
        await asyncio.sleep(6)
        counts = Counter(r.queue for r in world.ledger.book)
        assert abs(counts[FREE] - counts[LIMITED]) <= 2, counts
        world.check(await world.settled(within_s=60))
        assert broken(world, "20/s") == []

    simulate(2, story)


def test_a_limit_is_changed_and_lifted_without_a_restart() -> None:
    async def story(world: World) -> None:
        await fill(world, LIMITED, 400)
        await world.client.limit(LIMITED, "1/min")
        world.start("one")
        await asyncio.sleep(10)
        assert len(starts(world)) == 1
        await world.client.limit(LIMITED, "10/s")
        await asyncio.sleep(10)
        assert 80 < len(starts(world)) <= 102
        await world.client.limit(LIMITED, None)
        await asyncio.sleep(1)
        assert len(starts(world)) == 400

    simulate(3, story)


def test_what_waits_for_a_slot_can_be_cancelled_and_paused() -> None:
    async def story(world: World) -> None:
        numbers = await fill(world, LIMITED, 20)
        await world.client.limit(LIMITED, "1/s")
        world.start("one")
        await asyncio.sleep(2.5)
        gone = await world.client.cancel(to_text(numbers[-1]))
        assert gone.state is CancelState.cancelled
        await world.client.pause(LIMITED)
        await asyncio.sleep(0.5)
        before = len(starts(world))
        await asyncio.sleep(20)
        assert len(starts(world)) == before
        await world.client.resume(LIMITED)
        await asyncio.sleep(40)
        assert len(starts(world)) == 19
        assert broken(world, "1/s") == []

    simulate(4, story)


def test_a_stop_while_messages_wait_for_slots_spends_no_attempt() -> None:
    async def story(world: World) -> None:
        numbers = await fill(world, LIMITED, 5)
        await world.client.limit(LIMITED, "1/min")
        world.start("one")
        await asyncio.sleep(1)
        before_s = world.loop.time()
        await world.stop("one")
        assert world.loop.time() - before_s < 1
        told = [await world.client.explain(to_text(number)) for number in numbers]
        waiting = [t for t in told if t.state is State.waiting]
        assert len(waiting) == 4
        assert all(t.tries == () for t in waiting)
        world.start("two")
        world.check(await world.settled(within_s=600))
        assert broken(world, "1/min") == []

    simulate(5, story)


def test_owners_that_crash_stall_and_lose_their_lanes_keep_to_one_limit() -> None:
    quick = Limits(lease_ms=3_000, stale_ms=2_000, beat_ms=700, linger_ms=1_000)
    servers = ("ash", "oak", "elm", "fir")

    async def story(world: World) -> None:
        came: dict[str, list[tuple[float, int]]] = {server: [] for server in servers}
        for server in servers:
            await fill(world, f"sim://{server}/x", 60)
            await world.client.limit(await lane_of(world, f"sim://{server}/x"), "8/s,100/min")
        for name in ("one", "two", "three"):
            begin(world, name, came)
        for turn in range(12):
            await asyncio.sleep(world.loop.rng.uniform(0.3, 2))
            name = world.loop.rng.choice(sorted(world.members))
            if turn % 2:
                world.pause(name, world.loop.rng.uniform(0.1, 8))
            else:
                world.crash(name)
                begin(world, f"{name}+", came)
        world.check(await world.settled(within_s=600))
        for seen in came.values():
            assert len(seen) >= 60
            assert breaches(read_limit("8/s,100/min"), seen) == []

    for seed in range(3):
        simulate(seed, story, quick)


def begin(world: World, name: str, came: dict[str, list[tuple[float, int]]]) -> None:
    """An engine whose tries are noted as they come, also those that it does not live to end."""
    receiving = world.start(name).receivers
    told = receiving.on_start

    def on_start(server: str, number: int) -> None:
        came[server].append((world.clock.now_ms() * 1000.0, 1))
        told(server, number)

    receiving.on_start = on_start


def test_starts_that_are_noted_first_keep_to_the_limit_and_get_on() -> None:
    """An at-most-once queue, and a lane after a lost lease, write down each start before it."""

    async def story(world: World) -> None:
        once = "sim://ash/once"
        await fill(world, once, 40)
        await world.client.limit(once, "10/s")
        world.start("one")
        world.check(await world.settled(within_s=60))
        assert broken(world, "10/s") == []
        assert starts(world)[-1] - starts(world)[0] < 40 / 9

    simulate(7, story)


def test_a_note_that_takes_longer_than_the_grace_costs_no_slot() -> None:
    """It is written before its slot's time, also where one slot a second is all there is."""

    async def story(world: World) -> None:
        mark = world.store.mark

        async def slowly(owner: int, lane: Lane, ids: Sequence[int]) -> bool:
            await asyncio.sleep(0.1)
            return await mark(owner, lane, ids)

        world.store.mark = slowly  # type: ignore[method-assign]
        once = "sim://ash/once"
        await fill(world, once, 10)
        await world.client.limit(once, "1/s")
        world.start("one")
        world.check(await world.settled(within_s=60))
        assert broken(world, "1/s") == []
        assert starts(world)[-1] - starts(world)[0] < 10 / 0.9

    simulate(10, story)


def test_a_store_that_is_away_at_the_first_question_is_asked_again() -> None:
    """Nobody knows yet how late it is there: nothing starts, and nothing breaks."""

    async def story(world: World) -> None:
        reserve, asked = world.store.reserve, Counter[str]()

        async def away_at_first(asks: Sequence[Ask]) -> Reserved:
            asked["times"] += 1
            if asked["times"] <= 3:
                raise StoreUnavailable("simulated: the store was away")
            return await reserve(asks)

        world.store.reserve = away_at_first  # type: ignore[method-assign]
        await fill(world, LIMITED, 20)
        await world.client.limit(LIMITED, "10/s")
        world.start("one")
        world.check(await world.settled(within_s=60))
        assert broken(world, "10/s") == []
        assert len(starts(world)) == 20
        assert not world.members["one"].task.done()

    simulate(11, story)


def test_every_try_takes_a_slot_also_one_in_place() -> None:
    async def story(world: World) -> None:
        back_ms = world.clock.now_ms() + 5_000
        world.behaviours["sim://ash/away"] = receivers.away_until(back_ms)
        await fill(world, "sim://ash/away", 10)
        await fill(world, FREE, 30)
        await world.client.limit(await lane_of(world, FREE), "2/s")
        world.start("one")
        world.check(await world.settled(within_s=4 * 3600))
        assert len(starts(world)) > 40
        assert broken(world, "2/s") == []

    simulate(8, story)


def test_a_limit_costs_few_questions_to_the_store() -> None:
    async def story(world: World) -> None:
        await fill(world, LIMITED, 600)
        await world.client.limit(LIMITED, "50/s")
        asked: list[int] = []
        reserve = world.store.reserve

        async def counting(asks):  # type: ignore[no-untyped-def]
            asked.append(len(asks))
            return await reserve(asks)

        world.store.reserve = counting  # type: ignore[method-assign]
        world.start("one")
        world.check(await world.settled(within_s=60))
        took_s = starts(world)[-1] - starts(world)[0]
        assert len(asked) <= took_s * 6  # a block of 250 ms is one question
        gaps = [later - sooner for sooner, later in pairwise(starts(world))]
        assert max(gaps) < 0.1

    simulate(9, story)


def test_explain_says_that_a_limit_is_the_reason_of_a_wait() -> None:
    async def story(world: World) -> None:
        numbers = await fill(world, LIMITED, 5)
        await world.client.limit(LIMITED, "2/min")
        await world.client.limit(await lane_of(world, LIMITED), "50/s")
        world.start("one")
        await asyncio.sleep(2)
        told = await world.client.explain_queue(LIMITED)
        assert [(one.shared, one.limit) for one in told.limits] == [
            (True, "50/s"),
            (False, "2/min"),
        ]
        assert [(hold.scope, hold.kind) for hold in told.blocks] == [("queue", "pace")]
        last = await world.client.explain(to_text(numbers[-1]))
        assert last.state is State.waiting
        assert [hold.reason for hold in last.blocks] == ["no more than 2/min"]
        assert last.next.why == "it is due, and goes when its limit has a rate slot for it"
        assert not last.next.exact
        lane = await world.client.explain_lane(await lane_of(world, LIMITED))
        assert lane.blocks == ()  # the credential has slots to spare

    simulate(10, story)
