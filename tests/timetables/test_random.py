"""Timetables that are changed, paused, deleted and made again at random, in engines that crash."""

import asyncio
import random

import pytest
from msgspec import Struct

from postroad import Message, Postroad
from postroad.model.ticks import Fate, Schedule
from postroad.verbs.cron import ticks_after
from tests.rig.world import World, simulate

PLANS = ("*/7 * * * *", "0 * * * *", "*/20 1-3 * * *", "15,45 * * * *")
OPERATIONS = 25


class Span(Struct):
    """A time in which a plan held. `certain`: every tick of it has to come."""

    plan: Schedule
    until_ms: int = 0
    certain: bool = True

    def ticks(self) -> set[int]:
        """The ticks of the plan in this time."""
        found = set[int]()
        for at_ms in ticks_after(self.plan, self.plan.decided_ms):
            if at_ms > self.until_ms:
                return found
            found.add(at_ms)
        return found


class Owner:
    """Does to one timetable what its owner may do, and knows what has to come of it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.timetables = world.client.timetables
        self.spans: list[Span] = []
        self.paused = self.gone = False

    async def begin(self) -> None:
        (row,) = await self.world.store.timetable_page("default", "it", "", 1)
        now_ms = self.world.clock.now_ms()
        self.spans.append(Span(Schedule(row.plan.name, row.plan.cron, "UTC", now_ms)))

    def end(self, *, certain: bool) -> None:
        """What is due and not decided at this moment comes after a change, not after a pause."""
        if not self.paused and not self.gone:
            self.spans[-1].until_ms = self.world.clock.now_ms()
            self.spans[-1].certain = certain

    async def operate(self, rng: random.Random) -> None:
        draw = rng.choice(("change", "change", "pause", "resume", "renew", "body"))
        if self.gone or draw == "renew":
            if not self.gone:
                self.end(certain=False)
                await self.timetables.delete("it")
            self.gone = not self.gone
            if not self.gone:
                self.paused = False
                times = {"cron": rng.choice(PLANS), "missed": "all"}
                await self.timetables.create("it", "work", 1, **times)  # type: ignore[arg-type]
                await self.begin()
        elif draw == "body":
            await self.timetables.change("it", body=rng.random())
        elif draw == "change":
            self.end(certain=True)
            await self.timetables.change("it", cron=rng.choice(PLANS))
            if not self.paused:
                await self.begin()
        elif draw == "pause":
            self.end(certain=False)
            await self.timetables.pause("it")
            self.paused = True
        elif self.paused:
            await self.timetables.resume("it")
            self.paused = False
            await self.begin()

    async def check(self, delivered: set[str]) -> None:
        notes = await self.world.store.tick_notes("it", 0, 10_000)
        noted = {note.at_ms for note in notes}
        allowed = set[int]().union(*[span.ticks() for span in self.spans])
        needed = set[int]().union(*[span.ticks() for span in self.spans if span.certain])
        assert needed <= noted <= allowed
        assert len(noted) > 5
        assert {note.fate for note in notes} == {Fate.sent}
        assert len({note.message for note in notes}) == len(notes) == len(delivered)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_tick_comes_once_whatever_its_owner_does_and_whoever_crashes(seed: int) -> None:
    async def story(world: World) -> None:
        delivered: set[str] = set()

        def equip(_name: str, road: Postroad) -> None:
            @road.handler("work")
            async def work(message: Message) -> None:
                delivered.add(message.id)

        equip("client", world.client)
        world.equip = equip
        rng = random.Random(seed)
        owner = Owner(world)
        owner.gone = True
        for step in range(OPERATIONS):
            await owner.operate(rng)
            while len(world.members) < 2:
                world.start(f"engine-{step}-{len(world.members)}")
            await asyncio.sleep(rng.uniform(60, 5_400))
            name = rng.choice(sorted(world.members))
            world.crash(name) if rng.random() < 0.5 else world.pause(name, rng.uniform(5, 900))
        world.start("last")
        await asyncio.sleep(1_000)
        owner.end(certain=True)
        if not owner.gone:
            await world.client.timetables.pause("it")
        await asyncio.sleep(1_000)
        await owner.check(delivered)

    simulate(seed, story)
