"""A day of cron in three engines that crash: one function for the quick test and for the proof."""

import asyncio
import random
from collections import defaultdict
from datetime import datetime

from postroad import Message, Postroad
from postroad.model.states import State
from postroad.model.ticks import Fate, TickNote
from tests.rig.world import World, simulate

PLANS = {"often": ("*/5 * * * *", 300), "hourly": ("0 * * * *", 3600)}


class Day:
    """What the handlers of one simulated day saw."""

    def __init__(self, missed: str) -> None:
        self.missed = missed
        self.seen: dict[tuple[str, int], set[str]] = defaultdict(set)
        """Message ids by schedule and tick."""

    def equip(self, _name: str, road: Postroad) -> None:
        for name, (cron, _) in PLANS.items():

            async def handle(message: Message[dict[str, str]]) -> None:
                at_ms = int(datetime.fromisoformat(message.body["at"]).timestamp() * 1000)
                self.seen[(message.body["schedule"], at_ms)].add(message.id)
                await asyncio.sleep(0.5)

            road.every(cron, name=name, missed=self.missed)(handle)


def cron_days(first_seed: int, days: int, missed: str, hours: int = 24) -> tuple[int, list[str]]:
    """Lives through days with crashes, pauses, a failing store and hours in which nobody runs;
    answers how many ticks there were, and every one that came twice or is missing."""
    count = 0
    broken: list[str] = []
    for seed in range(first_seed, first_seed + days):
        day = Day(missed)

        async def story(world: World, day: Day = day, seed: int = seed) -> None:
            nonlocal count
            world.equip = day.equip
            start_ms = world.clock.now_ms()
            for n in range(3):
                world.start(f"engine-{n}")
            await asyncio.sleep(1)
            await disturb(world, start_ms + hours * 3_600_000)
            await asyncio.sleep(400)
            end_ms = world.clock.now_ms()
            await world.settled(within_s=0)
            states = await world.store.states()
            for name, (_, every_s) in PLANS.items():
                notes = {n.at_ms: n for n in await world.store.tick_notes(name, 0, 10_000)}
                expected = range(start_ms + every_s * 1000, end_ms + 1, every_s * 1000)
                count += len(expected)
                broken.extend(
                    f"seed {seed}: {b}" for b in check(day, name, expected, notes, states)
                )

        simulate(seed, story)
    return count, broken


async def disturb(world: World, until_ms: int) -> None:
    rng = world.loop.rng
    world.store.faults = lambda: _fault(rng)
    while world.clock.now_ms() < until_ms - 3_600_000:
        await asyncio.sleep(rng.uniform(60, 3600))
        draw = rng.random()
        names = sorted(world.members)
        if draw < 0.4:
            world.crash(rng.choice(names))
        elif draw < 0.6:
            world.pause(rng.choice(names), rng.uniform(5, 900))
        elif draw < 0.7:
            for name in names:  # nobody is there for a while
                world.crash(name)
            await asyncio.sleep(rng.uniform(30, 3000))
        while len(world.members) < 3:
            world.start(f"engine-{world.loop.time():.3f}-{len(world.members)}")
    world.store.faults = str
    left_ms = until_ms - world.clock.now_ms()
    await asyncio.sleep(left_ms / 1000)


def _fault(rng: random.Random) -> str:
    draw = rng.random()
    if draw < 0.01:
        return "before"
    return "after" if draw < 0.02 else ""


def check(
    day: Day, name: str, expected: range, notes: dict[int, TickNote], states: dict[int, State]
) -> list[str]:
    broken = [f"{name} {at_ms} has no note" for at_ms in expected if at_ms not in notes]
    broken += [f"{name} {at_ms} is no tick" for at_ms in notes if at_ms not in expected]
    for at_ms, note in notes.items():
        ids = day.seen[(name, at_ms)]
        if len(ids) > 1:
            broken.append(f"{name} {at_ms} came as {len(ids)} messages")
        if (note.fate is Fate.sent) != (len(ids) == 1):
            broken.append(f"{name} {at_ms} is noted as {note.fate} and was seen {len(ids)} times")
        if note.fate is Fate.sent and states.get(note.message) is not State.delivered:
            broken.append(f"{name} {at_ms} was sent and is {states.get(note.message)}")
        if day.missed == "all" and note.fate is not Fate.sent:
            broken.append(f"{name} {at_ms} was left out")
    return broken
