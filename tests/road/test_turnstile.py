"""Tries of one tenant that end together do not fill a turn of the loop beside another tenant."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.engine import turnstile
from postroad.engine.capacity import Capacity
from postroad.engine.turnstile import ALONE, AT_ONCE, REST_S, Turnstile
from postroad.model.entities import Message, Queue
from postroad.model.limits import Limits
from postroad.model.outcome import DELIVERED, Outcome
from tests.rig.receivers import Receivers
from tests.rig.world import World, simulate

LANES = 60


class Together(Receivers):
    """Servers that all answer their first message in the same moment, and note in which turn of the
    loop the second one comes."""

    def __init__(self) -> None:
        super().__init__(lambda: 0, lambda: 0.0)
        self.answers = asyncio.Event()
        self.first: set[str] = set()
        self.turn = 0
        self.starts: Counter[int] = Counter()

    def tick(self) -> None:
        self.turn += 1
        asyncio.get_running_loop().call_soon(self.tick)

    async def handle(self, server: str, queue: Queue, _message: Message) -> Outcome:
        """One try."""
        if queue.tenant != "crowd":
            return DELIVERED
        if server in self.first:
            self.starts[self.turn] += 1
            return DELIVERED
        self.first.add(server)
        await self.answers.wait()
        return DELIVERED


async def most_in_a_turn(folder: Path, *, other: bool) -> int:
    together = Together()
    settings = Settings(log_level="error", limits=Limits(window=1))
    async with Postroad(
        f"sqlite:///{folder}/road.db", settings=settings, transports=[together]
    ) as r:
        for name in [f"sim://s{n}/a" for n in range(LANES)] * 2:
            await r.send(name, 1, tenant="crowd")
        if other:
            await r.send("sim://quick/a", 1, tenant="other")
        running = asyncio.ensure_future(r.run(until_idle=True))
        while len(together.first) < LANES:
            await asyncio.sleep(0.01)
        await asyncio.sleep(2 * turnstile.WAITED_S)  # they have waited
        together.tick()
        together.answers.set()
        await running
    assert sum(together.starts.values()) == LANES
    return max(together.starts.values())


def test_what_ends_together_goes_on_in_many_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("beside", "alone", "without"):
        (tmp_path / name).mkdir()
    assert asyncio.run(most_in_a_turn(tmp_path / "beside", other=True)) <= 4 * AT_ONCE
    assert asyncio.run(most_in_a_turn(tmp_path / "alone", other=False)) > 4 * AT_ONCE
    monkeypatch.setattr(turnstile, "AT_ONCE", LANES)
    assert asyncio.run(most_in_a_turn(tmp_path / "without", other=True)) > 4 * AT_ONCE


def crowded(*, is_read: bool = False) -> Turnstile:
    """The turnstile of a process with two tenants."""
    capacity = Capacity(Limits(), {})
    for tenant in ("a", "b"):
        capacity.note_start(tenant, 1)
    return Turnstile(capacity, lambda: is_read)


def test_tenants_take_turns_and_a_cut_loses_nothing() -> None:
    asyncio.run(take_turns())


async def take_turns() -> None:
    gate, went = crowded(), []

    async def ended(tenant: str) -> None:
        if not gate.is_open(1.0):
            await gate.wait(tenant)
        went.append(tenant)

    tasks = [asyncio.ensure_future(ended(tenant)) for tenant in "aaaaaaab"]
    await asyncio.sleep(0)
    assert went == ["a"] * AT_ONCE
    tasks[-2].cancel()  # it goes on all the same: its try has ended
    await asyncio.gather(*tasks)
    assert sorted(went) == sorted("aaaaaaab")
    assert went.index("b") < len(went) - 2


def test_a_short_try_never_waits_and_a_tenant_alone_waits_less() -> None:
    asyncio.run(go_on_at_once())


async def go_on_at_once() -> None:
    gate = crowded()
    assert all(gate.is_open(0.0) for _ in range(100))
    alone = Turnstile(Capacity(Limits(), {}), lambda: False)
    assert [alone.is_open(1.0) for _ in range(ALONE + 1)] == [True] * ALONE + [False]


def lasts_s(*, is_read: bool) -> float:
    """How long twenty tries take that end together, in simulated time."""
    took_s: list[float] = []

    async def story(world: World) -> None:
        gate = crowded(is_read=is_read)

        async def ended() -> None:
            if not gate.is_open(1.0):
                await gate.wait("a")

        begun_s = world.clock.steady_s()
        await asyncio.gather(*[ended() for _ in range(10 * AT_ONCE)])
        took_s.append(world.clock.steady_s() - begun_s)

    _ = simulate(1, story)
    return took_s[0]


def test_turns_leave_the_interpreter_to_a_thread_that_reads() -> None:
    assert lasts_s(is_read=False) == 0.0
    assert lasts_s(is_read=True) == pytest.approx(8 * REST_S)


def test_a_store_says_whether_its_thread_reads(tmp_path: Path) -> None:
    async def story() -> None:
        async with Postroad(f"sqlite:///{tmp_path}/road.db") as road:
            reading = asyncio.ensure_future(road.store.counts())
            await asyncio.sleep(0)
            assert road.store.is_read_by_thread
            _ = await reading
            assert not road.store.is_read_by_thread

    asyncio.run(story())
