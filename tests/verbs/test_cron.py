"""Cron: once in the whole fleet at each tick, and none silently missing."""

import asyncio
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from postroad import Message, Postroad
from postroad.model.errors import StoreUnavailable
from postroad.model.limits import Limits
from postroad.model.ticks import Fate, Schedule, Timetabled
from postroad.stores.sqlite import ticks as sqlite_ticks
from postroad.stores.sqlite.collecting import delete_queue
from postroad.stores.sqlite.database import QUERIES
from tests.rig.world import World, simulate
from tests.verbs.ticking import cron_days

DAY_S = 86_400


@pytest.mark.parametrize(("missed", "seed"), [("latest", 1), ("all", 2), ("skip", 3)])
def test_three_engines_over_hours_with_crashes_miss_no_tick_and_repeat_none(
    missed: str, seed: int
) -> None:
    """With pauses, a failing store, and times in which nobody runs; days of it in `make proof
    ITEM=cron-days`."""
    count, broken = cron_days(seed, 1, missed, hours=5)
    assert count >= 65
    assert broken == []


def test_without_its_guards_ticks_come_twice_and_the_checker_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each engine believes that it is the first."""
    find = sqlite_ticks._find

    def undecided(db: Any, *which: str) -> Schedule | None:
        known = find(db, *which)
        return known and replace(known, decided_ms=known.decided_ms - 1)

    monkeypatch.setattr(sqlite_ticks, "_find", undecided)
    again = QUERIES["tick_insert"].replace("insert into", "insert or replace into")
    monkeypatch.setitem(QUERIES, "tick_insert", again)
    _, broken = cron_days(1, 1, "latest", hours=3)
    assert any("came as" in breach for breach in broken)


def stay(world: World, cron: str, **options: Any) -> list[int]:
    """Every engine of the world has this schedule; answers the ticks as they are handled."""
    handled: list[int] = []

    def equip(_name: str, road: Postroad) -> None:
        @road.every(cron, name="it", **options)
        async def handle(message: Message[dict[str, str]]) -> None:
            handled.append(round(datetime.fromisoformat(message.body["at"]).timestamp()))

    world.equip = equip
    return handled


@pytest.mark.parametrize(
    ("missed", "sent"), [("latest", ["+5"]), ("all", ["+1", "+2", "+3", "+4", "+5"]), ("skip", [])]
)
def test_ticks_that_nobody_was_there_for_are_treated_as_told(missed: str, sent: list[str]) -> None:
    """And each of them is noted."""

    async def story(world: World) -> None:
        start_s = world.clock.now_ms() // 1000
        handled = stay(world, "0 * * * *", missed=missed)
        world.start("one")
        await asyncio.sleep(60)
        world.crash("one")
        await asyncio.sleep(5 * 3600 + 600)
        world.start("two")
        await asyncio.sleep(60)
        assert sorted(f"+{(at - start_s) // 3600}" for at in handled) == sent
        notes = await world.store.tick_notes("it", 0, 100)
        assert [(note.at_ms // 1000 - start_s) // 3600 for note in notes] == [1, 2, 3, 4, 5]
        assert [note.fate for note in notes].count(Fate.sent) == len(sent)
        await asyncio.sleep(3600)
        assert len(handled) == len(sent) + 1

    simulate(1, story)


def test_a_schedule_counts_from_the_first_time_that_it_is_seen() -> None:
    """A road that is new in the afternoon has not missed the morning."""

    async def story(world: World) -> None:
        await asyncio.sleep(3 * 3600)
        handled = stay(world, "0 * * * *", missed="all")
        world.start("one")
        await asyncio.sleep(1800)
        assert handled == []

    simulate(2, story)


def test_a_changed_plan_settles_what_the_old_one_missed() -> None:
    """Hourly until now, then daily: the hours that were missed are noted by the hour."""

    async def story(world: World) -> None:
        start_s = world.clock.now_ms() // 1000
        handled = stay(world, "0 * * * *")
        world.start("one")
        await asyncio.sleep(60)
        await world.stop("one")
        await asyncio.sleep(3 * 3600)
        handled = stay(world, "30 12 * * *")
        world.start("two")
        await asyncio.sleep(12 * 3600)
        assert [(at - start_s) / 3600 for at in handled] == [3, 12.5]
        notes = await world.store.tick_notes("it", 0, 100)
        fates = [str(note.fate) for note in notes]
        assert fates == ["skipped", "skipped", "sent", "sent"]

    simulate(3, story)


def test_thousands_of_missed_minutes_are_noted_in_batches() -> None:
    """Two days of nobody: 2,880 ticks, one message."""

    async def story(world: World) -> None:
        handled = stay(world, "* * * * *")
        world.start("one")
        await asyncio.sleep(30)
        world.crash("one")
        await asyncio.sleep(2 * DAY_S)
        world.start("two")
        await asyncio.sleep(5)
        assert len(handled) == 1
        assert len(await world.store.tick_notes("it", 0, 10_000)) == 2880

    simulate(4, story)


def test_between_ticks_the_store_is_asked_once_an_hour() -> None:
    """In case a bell was lost that rang for a timetable that was made at run time."""

    async def story(world: World) -> None:
        stay(world, "0 0 1 7 *")
        world.start("one")
        await asyncio.sleep(60)
        before = world.store.queries["cron"]
        await asyncio.sleep(DAY_S)
        assert world.store.queries["cron"] == before + 24

    simulate(5, story)


def test_a_ring_opens_only_what_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays ring for themselves; another timetable costs no write."""

    async def story(world: World) -> None:
        handled = stay(world, "0 * * * *")
        world.start("one")
        await asyncio.sleep(60)
        opened: list[str] = []
        real = world.store.open_schedule

        async def opens(declared: Timetabled) -> Schedule | None:
            opened.append(declared.plan.name)
            return await real(declared)

        monkeypatch.setattr(world.store, "open_schedule", opens)
        before = world.store.queries["cron"]
        await world.store.ring_replays()
        await asyncio.sleep(60)
        assert world.store.queries["cron"] == before
        await world.client.timetables.create("other", "sim://box/1", 1, cron="0 0 * * *")
        await asyncio.sleep(60)
        assert opened == []
        await world.client.timetables.pause("it")
        await asyncio.sleep(3600)
        assert (opened, handled) == (["it"], [])
        await world.client.timetables.resume("it")
        await asyncio.sleep(3600)
        assert (opened, len(handled)) == (["it", "it"], 1)

    simulate(12, story)


def test_notes_are_forgotten_with_finished_work_and_no_tick_comes_again() -> None:
    """A process that stood still for longer than notes are kept repeats none."""

    async def story(world: World) -> None:
        handled = stay(world, "*/10 * * * *")
        world.start("one")
        world.start("two")
        await asyncio.sleep(3600)
        world.pause("two", 5 * 3600)
        await asyncio.sleep(6 * 3600 + 60)
        notes = await world.store.tick_notes("it", 0, 100)
        assert 6 <= len(notes) <= 12
        assert len(handled) == len(set(handled)) == 42

    simulate(6, story, Limits(history_ms=3_600_000))


def test_running_until_idle_sends_what_was_missed() -> None:
    """A script that is started by hand does the work of the ticks since its last run."""

    async def story(world: World) -> None:
        handled = stay(world, "0 * * * *")
        road = world._road(world.client._transports["sim"])  # type: ignore[arg-type]
        world.equip("script", road)
        async with road:
            await road.run(until_idle=True)
            assert handled == []
            await asyncio.sleep(2 * 3600)
            await road.run(until_idle=True)
            assert len(handled) == 1

    simulate(7, story)


# What fails at the moment of a tick


async def hours(world: World, start_ms: int) -> list[tuple[float, str]]:
    notes = await world.store.tick_notes("it", 0, 100)
    return [((note.at_ms - start_ms) / 3_600_000, str(note.fate)) for note in notes]


def test_a_tick_at_which_the_store_is_away_comes_when_it_is_back() -> None:
    async def story(world: World) -> None:
        start_ms = world.clock.now_ms()
        handled = stay(world, "0 * * * *")
        world.start("one")
        await asyncio.sleep(3599)
        world.store.faults = lambda: "before"
        await asyncio.sleep(5)
        world.store.faults = str
        await asyncio.sleep(60)
        assert handled == [start_ms // 1000 + 3600]
        await asyncio.sleep(3600)
        assert await hours(world, start_ms) == [(1, "sent"), (2, "sent")]

    simulate(8, story)


def test_a_queue_of_ticks_that_was_deleted_as_unused_is_made_again_for_the_next_one() -> None:
    async def story(world: World) -> None:
        start_ms = world.clock.now_ms()
        handled = stay(world, "0 * * * *")
        world.start("one")
        await asyncio.sleep(3660)  # its lanes are given back
        queue = await world.store.find_queue("default", "cron:it")
        assert queue is not None
        await world.store.write("retain", lambda db: delete_queue(db, queue.id))
        assert await world.store.find_queue("default", "cron:it") is None
        await asyncio.sleep(2 * 3600)
        assert await hours(world, start_ms) == [(1, "sent"), (2, "sent"), (3, "sent")]
        assert len(handled) == 3

    simulate(9, story)


def test_a_tick_that_is_refused_is_tried_again_and_the_process_goes_on() -> None:
    """Its queue was deleted, and its tenant has no room for another one at that moment."""

    async def story(world: World) -> None:
        start_ms = world.clock.now_ms()
        stay(world, "0 * * * *")
        one = world.start("one")
        await asyncio.sleep(60)
        queue = await world.store.find_queue("default", "cron:it")
        assert queue is not None
        await world.client.tenants.limits("default", queues_max=0)
        await world.store.write("retain", lambda db: delete_queue(db, queue.id))
        await asyncio.sleep(3600)
        assert not one.task.done()
        await world.client.tenants.limits("default", queues_max=10)
        await asyncio.sleep(120)
        assert await hours(world, start_ms) == [(1, "sent")]

    simulate(10, story)


def test_a_changed_plan_waits_until_the_store_has_settled_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store fails once meanwhile: no tick of the new plan comes for the time of the old one."""

    async def story(world: World) -> None:
        start_ms = world.clock.now_ms()
        stay(world, "0 * * * *")
        world.start("one")
        await asyncio.sleep(60)
        await world.stop("one")
        await asyncio.sleep(3 * 3600)
        stay(world, "30 * * * *")
        real = world.store.tick

        async def fails(*_values: Any) -> None:
            monkeypatch.setattr(world.store, "tick", real)
            raise StoreUnavailable("simulated")

        monkeypatch.setattr(world.store, "tick", fails)
        world.start("two")
        await asyncio.sleep(3600)
        old = [(1, "skipped"), (2, "skipped"), (3, "sent")]
        assert await hours(world, start_ms) == [*old, (3.5, "sent")]

    simulate(11, story)
