"""Timetables in the store: changed under a version, listed by name, found by time."""

import asyncio

from msgspec.structs import replace

from postroad.model.states import NEVER
from postroad.model.ticks import Missed, Schedule, Tick, Timetabled, TimetableOrigin
from tests.contract.bench import Bench

PLAN = Schedule("it", "* * * * *", "UTC", 1_000, "acme", version=5)
MADE = Timetabled(PLAN, "report", Missed.all, b'{"a":1}', TimetableOrigin.made, 60_000, 7, "")


async def found(bench: Bench, name: str = "it") -> Timetabled:
    (row,) = await bench.store.timetable_page("acme", name, "", 2)
    return row


async def test_a_timetable_is_stored_as_it_is_given(bench: Bench) -> None:
    assert await bench.store.timetable_add(MADE)
    assert await found(bench) == MADE
    assert not await bench.store.timetable_add(replace(MADE, queue="other"))
    assert await found(bench) == MADE
    often = replace(MADE, plan=replace(PLAN, name="often", cron="", every_ms=9, start_ms=3))
    assert await bench.store.timetable_add(often)
    await bench.reopen()
    assert await found(bench, "often") == often
    other = replace(often, plan=replace(often.plan, version=6), body=b"\x00", is_bytes=True)
    assert await bench.store.timetable_put(other, 5)
    assert await found(bench, "often") == other
    assert [row.is_bytes for row in await bench.store.timetables_next(9)] == [False, True]


async def test_of_two_who_change_one_version_one_is_first(bench: Bench) -> None:
    """And what is decided stays so."""
    store = bench.store
    assert await store.timetable_add(MADE)
    news = [replace(PLAN, version=n, decided_ms=500) for n in (6, 7, 8)]
    changes = [store.timetable_put(replace(MADE, plan=new), 5) for new in news]
    assert sorted(await asyncio.gather(*changes)) == [False, False, True]
    row = await found(bench)
    assert row.plan.version in (6, 7, 8)
    assert row.plan.decided_ms == 1_000
    assert not await store.timetable_drop("acme", "it", 5)
    assert await store.timetable_drop("acme", "it", row.plan.version)
    assert await store.timetable_page("acme", "", "", 10) == []


async def test_a_tick_of_an_older_version_is_refused(bench: Bench) -> None:
    store, queue = bench.store, await bench.queue()
    assert await store.timetable_add(MADE)
    assert await store.timetable_put(replace(MADE, plan=replace(PLAN, version=6)), 5)
    said = await store.tick(PLAN, [Tick(60_000, bench.draft(queue))], 60_000, 120_000)
    assert said
    assert (said.version, said.decided_ms) == (6, 1_000)
    assert await bench.counts() == {}
    assert (await found(bench)).look_ms == 60_000
    new = replace(PLAN, version=6)
    said = await store.tick(new, [Tick(60_000, bench.draft(queue))], 60_000, 120_000)
    assert said
    assert said.decided_ms == 60_000
    assert (await found(bench)).look_ms == 120_000
    assert await bench.counts() == {"waiting": 1}
    assert await store.timetable_drop("acme", "it", 6)
    assert await store.tick(new, [], 0) is None
    assert await store.timetable_add(MADE)  # a tick that came under its name does not come again
    assert (await found(bench)).plan.decided_ms == 60_000
    (note,) = await store.tick_notes("it", 0, 10, "acme")
    assert note.at_ms == 60_000


async def test_they_are_found_by_the_time_at_which_to_look(bench: Bench) -> None:
    store = bench.store
    times = {"c": 30, "a": 10, "b": 20, "never": NEVER}
    for name, look_ms in times.items():
        assert await store.timetable_add(
            replace(MADE, plan=replace(PLAN, name=name), look_ms=look_ms)
        )
    assert [row.plan.name for row in await store.timetables_next(2)] == ["a", "b"]
    await store.timetable_postpone(replace(PLAN, name="a"), 40, "why")
    await store.timetable_postpone(replace(PLAN, name="b", version=4), 40, "of another version")
    rows = await store.timetables_next(10)
    assert [(row.plan.name, row.error) for row in rows] == [("b", ""), ("c", ""), ("a", "why")]
    page = await store.timetable_page("acme", "", "a", 2)
    assert [(row.plan.name, row.body) for row in page] == [("b", b""), ("c", b"")]
    assert (await found(bench, "b")).body == MADE.body
    assert await store.timetable_page("other", "", "", 2) == []


async def test_a_change_is_heard(bench: Bench) -> None:
    heard = asyncio.Event()
    bench.store.hear_timetables(1, heard.set)
    assert await bench.store.timetable_add(MADE)
    async with asyncio.timeout(30):
        await heard.wait()


async def test_one_that_was_made_is_not_opened_by_a_program(bench: Bench) -> None:
    assert await bench.store.timetable_add(MADE)
    assert await bench.store.open_schedule(Timetabled(PLAN, "cron:it", Missed.all)) is None
    assert await found(bench) == MADE
    own = Timetabled(replace(PLAN, name="own"), "cron:own", Missed.all)
    assert await bench.store.open_schedule(own)
    assert await bench.store.open_schedule(replace(own, missed=Missed.skip))
    row = await found(bench, "own")
    assert (row.origin, row.missed, row.look_ms) == ("code", "skip", NEVER)


async def test_versions_are_told_of_those_that_programs_declare(bench: Bench) -> None:
    assert await bench.store.timetable_add(replace(MADE, plan=replace(PLAN, tenant="default")))
    own = Timetabled(replace(PLAN, name="own", tenant="default"), "cron:own", Missed.all)
    stored = await bench.store.open_schedule(own)
    assert stored is not None
    assert await bench.store.declared_versions() == {"own": 0}
    paused = replace(own, plan=replace(stored, version=7, paused=True))
    assert await bench.store.timetable_put(paused, 0)
    assert await bench.store.declared_versions() == {"own": 7}
