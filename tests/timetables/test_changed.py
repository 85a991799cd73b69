"""Timetables that are changed while ticks of the old plan are due."""

import asyncio

import pytest

from postroad.errors import StoreUnavailable, TenantFull
from postroad.model.entities import Draft
from postroad.model.ticks import Fate, Schedule
from postroad.verbs.scheduler import PlannedTimetable
from tests.rig.world import World, simulate
from tests.timetables.test_made import HOUR_S


def test_ticks_of_the_old_plan_that_cannot_be_sent_are_noted_as_skipped() -> None:
    """Of a tenant that was full nothing was noted, and they were silently missing."""

    async def story(world: World) -> None:
        timetables = world.client.timetables
        await timetables.create("it", "sim://box/1", 1, cron="0 * * * *")
        await asyncio.sleep(2 * HOUR_S + 60)  # nobody runs

        async def draft(entry: PlannedTimetable, plan: Schedule, at_ms: int) -> Draft:
            raise TenantFull(f"{plan.name} at {at_ms} for {entry.queue}")

        timetables._decider._drafts.draft = draft  # type: ignore[method-assign]
        await timetables.change("it", cron="30 * * * *")
        notes = await world.store.tick_notes("it", 0, 10)
        assert [note.fate for note in notes] == [Fate.skipped] * 2

    simulate(1, story)


def test_a_change_that_cannot_settle_what_is_due_changes_nothing() -> None:
    async def story(world: World) -> None:
        timetables = world.client.timetables
        await timetables.create("it", "sim://box/1", 1, cron="0 * * * *")
        await asyncio.sleep(3 * HOUR_S + 60)
        faults = iter(["before"])
        world.store.faults = lambda: next(faults, "")
        with pytest.raises(StoreUnavailable):
            await timetables.change("it", cron="30 * * * *")
        assert (await timetables.show("it")).cron == "0 * * * *"
        await timetables.change("it", cron="30 * * * *")
        notes = await world.store.tick_notes("it", 0, 10)
        assert [note.fate for note in notes] == [Fate.skipped, Fate.skipped, Fate.sent]

    simulate(1, story)
