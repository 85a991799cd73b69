"""Timetables: of all who come with a tick, one is first; and what became of it is noted."""

import asyncio

from postroad.model.ticks import Fate, Missed, Schedule, Tick, Timetabled
from tests.contract.bench import Bench

MINUTE_S, MINUTE_MS, DAY_MS = 60, 60_000, 86_400_000
PLAN = Schedule("tidy", "* * * * *", "UTC")


async def opened(bench: Bench, plan: Schedule = PLAN) -> Schedule:
    found = await bench.store.open_schedule(Timetabled(plan, "cron:tidy", Missed.latest))
    assert found is not None
    return found


async def test_a_new_schedule_is_decided_up_to_now_and_an_old_one_stays(bench: Bench) -> None:
    first = await opened(bench)
    assert (first.name, first.cron, first.tz) == ("tidy", "* * * * *", "UTC")
    assert abs(first.decided_ms - bench.now_ms) < 1000
    await bench.advance(MINUTE_S)
    again = await opened(bench, Schedule("tidy", "0 * * * *", "Europe/Berlin"))
    assert again == first


async def test_of_those_who_race_with_a_tick_one_is_first(bench: Bench) -> None:
    store, queue = bench.store, await bench.queue()
    at_ms = (await opened(bench)).decided_ms + MINUTE_MS
    await bench.advance(MINUTE_S)
    drafts = [bench.draft(queue) for _ in range(5)]
    answers = await asyncio.gather(*[store.tick(PLAN, [Tick(at_ms, d)], at_ms) for d in drafts])
    assert {answer and answer.decided_ms for answer in answers} == {at_ms}
    (note,) = await store.tick_notes("tidy", 0, 10)
    assert (note.at_ms, note.fate) == (at_ms, Fate.sent)
    assert note.message in {draft.id for draft in drafts}
    assert await bench.counts() == {"waiting": 1}
    lane = await bench.take()
    assert (await bench.only(lane.id)).id == note.message


async def test_skipped_ticks_are_noted_and_send_nothing(bench: Bench) -> None:
    store, queue = bench.store, await bench.queue()
    start_ms = (await opened(bench)).decided_ms
    times = [start_ms + n * MINUTE_MS for n in (1, 2, 3)]
    last = bench.draft(queue)
    ticks = [Tick(times[0]), Tick(times[1]), Tick(times[2], last)]
    answer = await store.tick(PLAN, ticks, times[2])
    assert answer
    assert answer.decided_ms == times[2]
    notes = await store.tick_notes("tidy", 0, 10)
    assert [(note.at_ms, note.fate, note.message) for note in notes] == [
        (times[0], Fate.skipped, 0),
        (times[1], Fate.skipped, 0),
        (times[2], Fate.sent, last.id),
    ]
    assert [note.at_ms for note in await store.tick_notes("tidy", times[0], 1)] == [times[1]]
    assert await store.tick_notes("other", 0, 10) == []


async def test_what_is_decided_is_never_undecided(bench: Bench) -> None:
    """A late comer with old ticks, and an old plan, changes nothing but the plan's text."""
    store, queue = bench.store, await bench.queue()
    start_ms = (await opened(bench)).decided_ms
    await store.tick(PLAN, [], start_ms + 10 * MINUTE_MS)
    old = Schedule("tidy", "0 0 * * *", "Europe/Berlin")
    late = [Tick(start_ms + n * MINUTE_MS, bench.draft(queue)) for n in (0, 5, 10)]
    answer = await store.tick(old, late, start_ms)
    assert answer
    assert (answer.cron, answer.tz) == (old.cron, old.tz)
    assert answer.decided_ms == start_ms + 10 * MINUTE_MS
    assert await bench.counts() == {}
    assert await store.tick_notes("tidy", 0, 10) == []


async def test_notes_are_forgotten_and_the_ticks_stay_decided(bench: Bench) -> None:
    store, queue = bench.store, await bench.queue()
    at_ms = (await opened(bench)).decided_ms + MINUTE_MS
    await store.tick(PLAN, [Tick(at_ms)], at_ms)
    await bench.advance(7 * 86_400 + 60)
    while await bench.store.retain(7 * DAY_MS, 90 * DAY_MS):
        pass
    assert await store.tick_notes("tidy", 0, 10) == []
    await store.tick(PLAN, [Tick(at_ms, bench.draft(queue))], at_ms)
    assert await bench.counts() == {}


async def test_schedules_survive_a_restart(bench: Bench) -> None:
    start_ms = (await opened(bench)).decided_ms
    await bench.store.tick(PLAN, [Tick(start_ms + 1)], start_ms + 1)
    await bench.reopen()
    assert (await opened(bench)).decided_ms == start_ms + 1
    assert len(await bench.store.tick_notes("tidy", 0, 10)) == 1
