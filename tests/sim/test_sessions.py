"""Open sessions are few, whatever rests; and what this process lacks is nobody else's fault."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from postroad import Postroad
from postroad.engine import sessions
from postroad.engine.capacity import Capacity
from postroad.engine.descriptor_backoff import DescriptorBackoff
from postroad.model.circuit import CLOSED
from postroad.model.entities import Message, Queue
from postroad.model.errors import Shortage
from postroad.model.ids import to_text
from postroad.model.limits import Limits
from postroad.model.outcome import DELIVERED, Outcome
from postroad.model.states import State
from postroad.transports.handler import Job
from tests.rig import receivers
from tests.rig.receivers import Behaviour, Receivers, ReceiverSession
from tests.rig.world import World, simulate

ROOM = 4
LIMITS = Limits(in_flight_max=ROOM, claim_batch=4)
MOST, BATCH = sessions.A_PLACE * ROOM, 8
SERVERS = 160
MESSAGES = 150
LACKS = "Too many open files in this process"


class Counted(ReceiverSession):
    """Knows how many are open, and how it was closed."""

    now = most = in_use = 0
    opened: Counter[str]
    fails = False

    def __init__(self, owner: Receivers, server: str) -> None:
        super().__init__(owner, server)
        self._sends = 0
        Counted.opened[server] += 1
        Counted.now += 1
        Counted.most = max(Counted.most, Counted.now)

    async def send(self, queue: Queue, message: Message) -> Outcome:
        self._sends += 1
        try:
            return await super().send(queue, message)
        finally:
            self._sends -= 1

    async def close(self) -> None:
        Counted.now -= 1
        Counted.in_use += self._sends > 0
        await asyncio.sleep(0.01)
        if Counted.fails:
            raise OSError("it hung up first")


@pytest.fixture(autouse=True)
def _counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(receivers, "ReceiverSession", Counted)
    monkeypatch.setattr(sessions, "BATCH", BATCH)
    Counted.now = Counted.most = Counted.in_use = 0
    Counted.opened, Counted.fails = Counter(), False
    yield
    assert Counted.in_use == 0


async def serve_many(world: World) -> None:
    """One message to each of many servers, and more all the time to one of them."""
    for n in range(SERVERS):
        world.behaviours[f"s{n}"] = receivers.good(seconds=0.3)
        await world.send(f"sim://s{n}/a")
    world.start("one")
    while len(world.ledger.book) < SERVERS + 40:
        await world.send("sim://s0/a")
        await asyncio.sleep(0.25)
    world.check(await world.settled(within_s=60))


@pytest.mark.wide
def test_open_sessions_are_few_while_many_lanes_rest() -> None:
    async def story(world: World) -> None:
        await serve_many(world)
        assert MOST < Counted.most <= MOST + BATCH + ROOM
        assert Counted.opened["s0"] < 10  # one that is closed is opened anew, and that is seldom

    simulate(1, story, LIMITS)


def test_without_the_cap_there_are_as_many_as_lanes_that_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "A_PLACE", 1_000)

    async def story(world: World) -> None:
        await serve_many(world)
        assert Counted.most > 2 * (MOST + BATCH + ROOM)

    simulate(1, story, LIMITS)


def test_sessions_that_do_not_close_well_hold_up_nobody() -> None:
    Counted.fails = True

    async def story(world: World) -> None:
        await serve_many(world)
        assert Counted.most <= MOST + BATCH + ROOM

    simulate(1, story, LIMITS)


def lacking_until(back_ms: int, tries: list[int]) -> Behaviour:
    """Nothing can be sent from here until a time."""

    def behave(now_ms: int, draw: float) -> tuple[float, bool, Outcome]:
        tries.append(now_ms)
        del draw
        if now_ms < back_ms:
            raise Shortage(LACKS)
        return 0.01, True, DELIVERED

    return behave


async def lack(world: World) -> int:
    """A process lacks descriptors for 20 s, with many messages on one lane. Sees that nobody is
    blamed and that they are told why they wait; answers how often it tried in vain."""
    tries: list[int] = []
    back_ms = world.clock.now_ms() + 20_000
    world.behaviours["s"] = lacking_until(back_ms, tries)
    numbers = [await world.send(f"sim://s/{n % 4}") for n in range(MESSAGES)]
    world.start("one")
    await asyncio.sleep(0.5)
    told = [await world.client.explain(to_text(number)) for number in numbers]
    assert {(one.circuit, one.level) for one in told} == {(CLOSED, 0)}
    holds = {(hold.scope, hold.kind, hold.reason) for one in told for hold in one.blocks}
    assert holds == {("message", "later", LACKS)}
    world.check(await world.settled(within_s=120))
    assert {receipt.level for receipt in world.ledger.book} == {0}
    return sum(at_ms < back_ms for at_ms in tries)


def test_what_this_process_lacks_is_nobodys_fault_and_is_seldom_tried_in_vain() -> None:
    async def story(world: World) -> None:
        assert await lack(world) < MESSAGES

    simulate(1, story, Limits(in_flight_max=32))


@pytest.mark.wide
def test_without_rest_and_less_room_all_is_tried_in_vain_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DescriptorBackoff, "is_resting", lambda _self, _worker, _now_s: False)
    monkeypatch.setattr(Capacity, "shrink", lambda _room, _pool: None)

    async def story(world: World) -> None:
        assert await lack(world) > 10 * MESSAGES

    simulate(1, story, Limits(in_flight_max=32))


@pytest.mark.wide
def test_others_go_on_beside_a_lane_that_lacks_something_for_good() -> None:
    """Its own kind, which has what it needs, and handlers, which need nothing."""

    async def story(world: World) -> None:
        done: list[int] = []

        def equip(_name: str, road: Postroad) -> None:
            @road.handler("work")
            async def work(message: Job) -> None:
                await asyncio.sleep(0.05)
                done.append(message.body)

        world.equip = equip
        world.behaviours["s"] = lacking_until(world.clock.now_ms() + 600_000, [])
        world.behaviours["good"] = receivers.good(seconds=0.05)
        for n in range(MESSAGES):
            await world.send(f"sim://s/{n % 4}")
        member = world.start("one")
        await asyncio.sleep(3)
        await member.road.send_many([("work", n) for n in range(500)])
        for n in range(1_000):
            await world.send(f"sim://good/{n % 4}")
        begun_ms = world.clock.now_ms()
        while len(done) < 500 or len(world.ledger.book) < 1_000:
            await asyncio.sleep(0.1)
            assert world.clock.now_ms() < begun_ms + 30_000

    simulate(1, story, Limits(in_flight_max=64))


def test_a_shortage_beside_outages_order_and_doubt_breaks_no_promise() -> None:
    async def story(world: World) -> None:
        start_ms = world.clock.now_ms()
        tries: list[int] = []
        lacking = lacking_until(start_ms + 30_000, tries)

        def away_then_lacking(now_ms: int, draw: float) -> tuple[float, bool, Outcome]:
            if now_ms < start_ms + 10_000:
                return receivers.away_until(start_ms + 10_000)(now_ms, draw)
            return lacking(now_ms, draw)

        for server in ("s", "t"):
            world.behaviours[server] = away_then_lacking if server == "s" else lacking
            for n in range(20):
                await world.send(f"sim://{server}/a", order_key=str(n % 3))
                await world.send(f"sim://{server}/once")
                await world.send(f"sim://{server}/b")
        world.start("one")
        await asyncio.sleep(20)
        world.crash("one")
        world.start("two")
        states = await world.settled(within_s=600)
        world.check(states)
        assert set(states.values()) == {State.delivered}
        assert any(at_ms < start_ms + 30_000 for at_ms in tries)

    simulate(3, story, Limits(in_flight_max=32))
