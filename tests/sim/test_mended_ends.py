"""Mended: ends of runs, of sessions and of leases."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from postroad.model.entities import LaneKey, Message, Queue
from postroad.model.errors import StoreUnavailable
from postroad.model.limits import Limits
from postroad.model.outcome import Kind, Outcome
from postroad.model.record import Claim, Release
from postroad.model.states import State
from postroad.transports.job import Job
from tests.rig import receivers
from tests.rig.receivers import ReceiverSession
from tests.rig.world import Member, World, simulate

DRAIN_S = Limits().drain_s


async def took_s(world: World, what: Awaitable[object], at_most_s: float) -> float:
    """How long something took; a TimeoutError when it is not over in time."""
    started_s = world.loop.time()
    async with asyncio.timeout(at_most_s):
        await what
    return world.loop.time() - started_s


def test_a_stop_ends_although_the_store_cannot_write() -> None:
    """What was done is unknown to the store then, and is done again."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(2.0)
        world.start("one")
        number = await world.send("sim://ash/a")
        await asyncio.sleep(1)
        world.store.faults = lambda: "before"
        assert await took_s(world, world.stop("one"), 600) <= 3 * DRAIN_S
        world.store.faults = str
        world.start("two")
        await asyncio.sleep(60)
        assert (await world.store.states())[number] is State.delivered

    simulate(1, story)


def test_a_stop_ends_beside_a_handler_that_swallows_its_cancellation() -> None:
    """It is said, and left behind."""

    async def story(world: World) -> None:
        member = world.start("one")

        async def never(server: str, queue: Queue, message: Message) -> Outcome:  # noqa: ARG001
            while True:
                try:
                    await asyncio.sleep(10_000)
                except asyncio.CancelledError:
                    continue

        member.receivers.handle = never  # type: ignore[method-assign]
        await world.send("sim://ash/a")
        await asyncio.sleep(1)
        assert await took_s(world, world.stop("one"), 600) <= 3 * DRAIN_S

    simulate(2, story)


def test_an_engine_that_stops_claims_nothing_more() -> None:
    """Another one is there; what becomes due while sends are drained is not ours to hold."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(18.0)
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(1)
        world.start("two")
        await asyncio.sleep(1)
        numbers = [await world.send(f"sim://server-{n}/a", delay=3.0 + n) for n in range(5)]
        stop = asyncio.get_running_loop().create_task(world.stop("one"))
        await asyncio.sleep(60)
        await stop
        late_ms = {
            r.message: r.started_ms - world.ledger.sent[r.message].due_ms for r in world.ledger.book
        }
        assert max(late_ms[number] for number in numbers) < 1_000

    simulate(9, story)


def test_a_road_that_runs_again_serves_a_lane_whose_claim_was_answered_late() -> None:
    """The first run ended while its claim was on its way back."""

    async def story(world: World) -> None:
        real = world.store.claim

        async def late(
            owner: int,
            levels: Sequence[int],
            pools: Sequence[str],
            limit: int,
            without: Sequence[str] = (),
        ) -> Claim:
            answer = await real(owner, levels, pools, limit, without)
            if answer.lanes:
                await asyncio.sleep(5)
            return answer

        world.store.claim = late  # type: ignore[method-assign]
        number = await world.send("sim://ash/a")
        first = asyncio.get_running_loop().create_task(world.client.run())
        await asyncio.sleep(1)
        world.client.stop()
        await first
        world.store.claim = real  # type: ignore[method-assign]
        again = asyncio.get_running_loop().create_task(world.client.run())
        await asyncio.sleep(5)
        assert (await world.store.states())[number] is State.delivered
        world.client.stop()
        await again

    simulate(3, story)


def test_stop_ends_a_run_that_waits_until_it_is_idle() -> None:
    """Which under steady traffic it never is."""

    async def story(world: World) -> None:
        @world.client.handler("slow")
        async def slow(_job: Job) -> None:
            await asyncio.sleep(1)

        async def traffic() -> None:
            while True:
                await world.send("slow")
                await asyncio.sleep(0.4)

        loop = asyncio.get_running_loop()
        await world.send("slow")
        feeding = loop.create_task(traffic())
        run = loop.create_task(world.client.run(until_idle=True))
        await asyncio.sleep(2)
        world.client.stop()
        done, _ = await asyncio.wait([run], timeout=DRAIN_S)
        feeding.cancel()
        await run
        assert run in done

    simulate(4, story)


Open = Callable[[LaneKey], Awaitable[ReceiverSession]]


def open_with(member: Member, opens: Callable[[Open, LaneKey], Awaitable[ReceiverSession]]) -> None:
    """Sessions of this engine are opened in another way."""
    real = member.receivers.open

    async def wrapped(lane: LaneKey) -> ReceiverSession:
        return await opens(real, lane)

    member.receivers.open = wrapped  # type: ignore[method-assign]


def test_a_session_that_hangs_on_open_ends_as_unreachable() -> None:
    """Within the time that a try may take."""

    async def story(world: World) -> None:
        member = world.start("one")

        async def hangs(_real: Open, _lane: LaneKey) -> ReceiverSession:
            never: asyncio.Future[ReceiverSession] = asyncio.get_running_loop().create_future()
            return await never

        open_with(member, hangs)
        await world.send("sim://ash/a")
        await asyncio.sleep(receivers.QUICK.timeout_ms / 1000 + 1)
        assert member.road.engine is not None
        assert member.road.engine.figures.tries == {Kind.unreachable: 1}

    simulate(5, story)


def test_a_session_that_does_not_close_well_does_not_break_the_engine() -> None:
    """It is given up in any case."""

    async def story(world: World) -> None:
        member = world.start("one")

        async def breaks_later(real: Open, lane: LaneKey) -> ReceiverSession:
            session = await real(lane)

            async def close() -> None:
                raise OSError("reset by peer")

            session.close = close  # type: ignore[method-assign]
            return session

        open_with(member, breaks_later)
        await world.send("sim://ash/a")
        await asyncio.sleep(10)
        assert not member.task.done()
        number = await world.send("sim://ash/a")
        await asyncio.sleep(10)
        assert (await world.store.states())[number] is State.delivered

    simulate(6, story)


def test_sessions_of_lanes_that_were_taken_over_are_closed() -> None:
    """Without waiting for their owner to get another lane."""

    async def story(world: World) -> None:
        world.behaviours.update({server: receivers.good(1.0) for server in ("ash", "birch")})
        member = world.start("one")
        opened: set[str] = set()

        async def counted(real: Open, lane: LaneKey) -> ReceiverSession:
            session = await real(lane)
            opened.add(lane.server)

            async def close() -> None:
                opened.discard(lane.server)

            session.close = close  # type: ignore[method-assign]
            return session

        open_with(member, counted)
        await world.send("sim://ash/a")
        await world.send("sim://birch/a")
        await asyncio.sleep(0.5)
        assert opened == {"ash", "birch"}
        world.start("two")
        world.pause("one", 60)
        await asyncio.sleep(120)
        assert opened == set()

    simulate(7, story)


def test_an_owner_told_that_it_was_dead_starts_again_at_once() -> None:
    """Not only after its next sign of life, ten seconds later."""

    async def story(world: World) -> None:
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(0.5)
        world.start("two")
        world.pause("one", 60)
        await asyncio.sleep(55)
        await world.stop("two")
        await asyncio.sleep(6)
        before = len(world.ledger.book)
        for _ in range(30):
            await world.send("sim://ash/a")
            await asyncio.sleep(0.5)
        delays_ms = [
            r.started_ms - world.ledger.sent[r.message].due_ms for r in world.ledger.book[before:]
        ]
        assert len(delays_ms) == 30
        assert max(delays_ms) < 1_000

    simulate(8, story)


def test_a_lane_that_could_not_be_given_back_is_served_all_the_same() -> None:
    """The store was away for a moment. It is the engine's by name, and a message comes for it."""

    async def story(world: World) -> None:
        real = world.store.release
        away = [True]

        async def release(owner: int, lanes: Sequence[Release]) -> dict[int, int]:
            if away.pop() if away else False:
                raise StoreUnavailable("simulated: the store was away")
            return await real(owner, lanes)

        world.store.release = release  # type: ignore[method-assign]
        world.start("one")
        await world.send("sim://ash/a")
        while away:
            await asyncio.sleep(0.1)
        await asyncio.sleep(2)
        number = await world.send("sim://ash/a")
        await asyncio.sleep(1)
        assert (await world.store.states())[number] is State.delivered

    simulate(11, story)
