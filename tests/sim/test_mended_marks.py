"""Mended: notes of what is about to start, and what a stop makes of a try under way."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from postroad import Postroad
from postroad.model.control import CancelState
from postroad.model.entities import Lane
from postroad.model.errors import StoreUnavailable
from postroad.model.ids import to_text
from postroad.model.ladder import Steps
from postroad.model.outcome import DELIVERED, unreachable
from postroad.model.record import Record, Recorded
from postroad.model.states import State
from postroad.transports.job import Job
from tests.rig import receivers
from tests.rig.world import Member, World, simulate


def on_mark(world: World, after: Callable[[Sequence[int]], Awaitable[None]]) -> None:
    """Something happens between the writing of each mark and its answer."""
    real = world.store.mark

    async def mark(owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        answer = await real(owner, lane, ids)
        await after(ids)
        return answer

    world.store.mark = mark  # type: ignore[method-assign]


def lose_marks_of(world: World, times: int, number: int = 0) -> None:
    """The answers of so many marks, of one message or of any, are lost after their commit."""
    lost: Counter[str] = Counter()

    async def lose(ids: Sequence[int]) -> None:
        if number in (0, *ids) and lost["answers"] < times:
            lost["answers"] += 1
            raise StoreUnavailable("simulated: committed, but the answer was lost")

    on_mark(world, lose)


def test_a_mark_whose_answer_is_lost_leaves_no_doubt() -> None:
    """It was not sent: it is sent later, once."""

    async def story(world: World) -> None:
        world.start("one")
        lose_marks_of(world, times=1)
        number = await world.send("sim://ash/once")
        await asyncio.sleep(600)
        assert (await world.store.states())[number] is State.delivered
        assert [r.handled for r in world.ledger.book] == [True]

    simulate(1, story)


def test_a_stop_while_a_mark_is_written_leaves_no_doubt() -> None:
    """The next engine sends it, once."""

    async def story(world: World) -> None:
        world.start("one")
        await asyncio.sleep(1)

        marked = asyncio.Event()

        async def slowly(_ids: Sequence[int]) -> None:
            if not marked.is_set():
                marked.set()
                await asyncio.sleep(15)  # longer than a stop waits

        on_mark(world, slowly)
        number = await world.send("sim://ash/once")
        await marked.wait()
        await world.stop("one")
        world.start("two")
        await asyncio.sleep(600)
        assert (await world.store.states())[number] is State.delivered
        assert [r.handled for r in world.ledger.book] == [True]

    simulate(2, story)


def test_lost_answers_of_marks_are_no_lost_leases() -> None:
    """On a lane that notes each start: three of them do not make a `crash_loop`."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(5.0)
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(1)
        world.crash("one")
        other = await world.send("sim://ash/b")
        lose_marks_of(world, times=3, number=other)
        world.start("two")
        await asyncio.sleep(200)
        assert set((await world.store.states()).values()) == {State.delivered}
        assert len([r for r in world.ledger.book if r.message == other]) == 1

    simulate(3, story)


def fail_first_record(world: World) -> None:
    """The first result is written a second late."""
    real = world.store.record
    calls: Counter[str] = Counter()

    async def patched(record: Record) -> Recorded:
        calls["record"] += 1
        if calls["record"] == 1:
            raise StoreUnavailable("simulated: the store was away")
        return await real(record)

    world.store.record = patched  # type: ignore[method-assign]


def count_starts(member: Member, starts: Counter[int]) -> None:
    """Tries, also those that never end."""
    told = member.receivers.on_start

    def on_start(server: str, number: int) -> None:
        told(server, number)
        starts[number] += 1

    member.receivers.on_start = on_start


def test_the_late_record_of_a_try_in_place_does_not_erase_the_next_mark() -> None:
    """The process dies in the second try: nobody makes a third one."""

    async def story(world: World) -> None:
        starts: Counter[int] = Counter()

        refused = (0.01, False, unreachable("refused"))
        world.behaviours["ash"] = lambda _now_ms, _draw: (
            (5.0, True, DELIVERED) if starts else refused
        )
        count_starts(world.start("one"), starts)
        await asyncio.sleep(1)
        fail_first_record(world)
        number = await world.send("sim://ash/once")
        await asyncio.sleep(3.5)
        assert starts[number] == 2
        world.crash("one")
        count_starts(world.start("two"), starts)
        await asyncio.sleep(300)
        assert starts[number] == 2
        assert (await world.store.counts())["uncertain"] == 1

    simulate(4, story)


def test_a_handler_past_its_time_is_in_doubt_where_a_second_try_is_not_allowed() -> None:
    """Its thread, or the server that it called, may go on to the end."""

    async def story(world: World) -> None:
        runs: list[int] = []

        def equip(_name: str, road: Postroad) -> None:
            @road.handler(
                "pay", at_most_once=True, timeout=1, ladder=Steps(retries=3, delays_ms=(100,))
            )
            async def pay(job: Job) -> None:
                runs.append(job.attempt)
                await asyncio.sleep(5)

        world.equip = equip
        world.start("one")
        await asyncio.sleep(1)
        await world.send("pay")
        await asyncio.sleep(60)
        assert len(runs) == 1
        assert (await world.store.counts())["uncertain"] == 1

    simulate(5, story)


def test_what_was_to_be_cancelled_when_a_stop_cut_it_is_cancelled() -> None:
    """`sending` says that this try is the last one: no restart makes another."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(18.0)
        member = world.start("one")
        number = await world.send("sim://ash/a")
        await asyncio.sleep(1)
        assert (await member.road.cancel(to_text(number))).state is CancelState.sending
        await world.stop("one")
        assert (await world.store.states())[number] is State.cancelled
        world.start("two")
        await asyncio.sleep(100)
        assert world.ledger.book == []

    simulate(6, story)
