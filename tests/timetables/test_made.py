"""Timetables that are made at run time, in a simulated fleet: each tick once, whatever changes."""

import asyncio
from typing import Any

import pytest

from postroad import Message, Postroad
from postroad.errors import (
    BadInput,
    BodyTooLarge,
    Conflict,
    DeclaredInCode,
    TenantFull,
    UnknownTimetable,
)
from postroad.model.ticks import Fate, Missed, Schedule, Timetabled, TimetableOrigin
from postroad.stores.sqlite.collecting import delete_queue
from tests.rig.world import World, simulate

HOUR_S = 3_600


def stay(world: World) -> list[Any]:
    """Every engine of the world has a handler; answers the bodies that it got."""
    got: list[Any] = []

    def equip(_name: str, road: Postroad) -> None:
        @road.handler("report")
        async def report(message: Message[Any]) -> None:
            got.append(message.body)

    equip("client", world.client)
    world.equip = equip
    return got


async def ticks(world: World, name: str) -> list[int]:
    """The hours since the start that were sent."""
    notes = await world.store.tick_notes(name, 0, 10_000)
    start_ms = 1_767_225_600_000
    return [(n.at_ms - start_ms) // 3_600_000 for n in notes if n.fate is Fate.sent]


def test_what_is_made_while_the_fleet_runs_comes_once_and_at_once_in_all_processes() -> None:
    async def story(world: World) -> None:
        got = stay(world)
        for n in range(3):
            world.start(f"engine-{n}")
        await asyncio.sleep(60)
        made = await world.client.timetables.create(
            "hourly", "report", {"for": "ann"}, cron="0 * * * *", zone="Europe/Berlin"
        )
        assert made.when == "at the start of every hour Europe/Berlin"
        assert (made.origin, made.missed, made.paused) == ("made", "latest", False)
        await world.client.timetables.create("often", "report", [1], every=600)
        await asyncio.sleep(2 * HOUR_S + 5)
        assert got.count({"for": "ann"}) == 2
        assert got.count([1]) == 12
        shown = await world.client.timetables.show("often")
        assert [at - shown.next_ms[0] for at in shown.next_ms] == [n * 600_000 for n in range(5)]
        assert shown.body == [1]
        await world.client.timetables.delete("often")
        await asyncio.sleep(HOUR_S)
        assert (got.count({"for": "ann"}), got.count([1])) == (3, 12)

    simulate(1, story)


def test_daylight_saving_is_kept() -> None:
    """Casablanca, 15 February 2026: 02:30 comes twice, and counts once."""

    async def story(world: World) -> None:
        stay(world)
        start_ms = 1_771_027_200_000  # 14 February, midnight UTC
        await asyncio.sleep((start_ms - world.clock.now_ms()) / 1000)
        world.start("one")
        times: dict[str, Any] = {"cron": "30 2 * * *", "zone": "Africa/Casablanca"}
        made = await world.client.timetables.create("nightly", "report", 1, **times)
        first = [(at - start_ms) // 60_000 for at in made.next_ms[:3]]
        assert first == [90, 24 * 60 + 90, 2 * 24 * 60 + 150]
        await asyncio.sleep(3 * 86_400)
        notes = await world.store.tick_notes("nightly", 0, 10)
        assert tuple(note.at_ms for note in notes) == made.next_ms[:3]

    simulate(1, story)


def test_a_tick_that_is_due_when_its_timetable_is_changed_is_decided_by_the_old_plan() -> None:
    async def story(world: World) -> None:
        got = stay(world)
        timetables = world.client.timetables
        await timetables.create("it", "report", "old", cron="0 * * * *")
        await asyncio.sleep(2 * HOUR_S + 60)  # nobody runs
        await timetables.change("it", body="new")  # the times stay, so what is due is sent with it
        assert await ticks(world, "it") == []
        await timetables.change("it", cron="30 * * * *")
        assert await ticks(world, "it") == [2]
        world.start("one")
        await asyncio.sleep(HOUR_S)
        assert got == ["new", "new"]
        notes = await world.store.tick_notes("it", 0, 10)
        assert [(n.at_ms // 60_000 % 60, n.fate) for n in notes] == [
            (0, Fate.skipped),
            (0, Fate.sent),
            (30, Fate.sent),
        ]

    simulate(1, story)


def test_what_comes_while_it_is_paused_is_not_made_up_for() -> None:
    async def story(world: World) -> None:
        got = stay(world)
        timetables = world.client.timetables
        await timetables.create("it", "report", 1, cron="0 * * * *", missed="all")
        await asyncio.sleep(HOUR_S + 60)  # one is missed, then it is paused
        paused = await timetables.pause("it")
        assert (paused.paused, paused.next_at_ms, paused.next_ms) == (True, None, ())
        world.start("one")
        await asyncio.sleep(2 * HOUR_S)
        assert got == []
        assert (await timetables.pause("it")).changed_at_ms == paused.changed_at_ms
        sent = await timetables.run_now("it")
        assert sent.queue == "report"
        await timetables.resume("it")
        await asyncio.sleep(HOUR_S)
        assert await ticks(world, "it") == [4]
        assert got == [1, 1]

    simulate(1, story)


@pytest.mark.parametrize(("missed", "sent"), [("latest", [3]), ("all", [1, 2, 3]), ("skip", [])])
def test_ticks_that_nobody_was_there_for_are_treated_as_told(missed: str, sent: list[int]) -> None:
    async def story(world: World) -> None:
        stay(world)
        await world.client.timetables.create("it", "report", 1, cron="0 * * * *", missed=missed)
        await asyncio.sleep(3 * HOUR_S + 600)
        world.start("one")
        await asyncio.sleep(60)
        assert await ticks(world, "it") == sent
        assert len(await world.store.tick_notes("it", 0, 10)) == 3

    simulate(1, story)


def test_one_that_is_deleted_while_its_tick_is_being_decided_sends_nothing_more() -> None:
    """And one that is made anew under its name does not repeat a tick of it."""

    async def story(world: World) -> None:
        got = stay(world)
        timetables = world.client.timetables
        await timetables.create("it", "report", "old", cron="0 * * * *")
        (row,) = await world.store.timetable_page("default", "it", "", 1)
        await asyncio.sleep(HOUR_S + 1)
        await timetables.delete("it")
        assert await world.store.tick(row.plan, [], world.clock.now_ms()) is None
        await timetables.create("it", "report", "new", cron="0 * * * *")
        late = await world.store.tick(row.plan, [], world.clock.now_ms() + 7_200_000)
        assert late
        assert late.version != row.plan.version
        assert late.decided_ms <= world.clock.now_ms()
        world.start("one")
        await asyncio.sleep(HOUR_S)
        assert got == ["new"]
        with pytest.raises(
            UnknownTimetable, match="has no timetable 'that': see `postroad timetable list`"
        ):
            await timetables.delete("that")

    simulate(1, story)


def test_two_who_change_it_at_once_both_have_their_way() -> None:
    async def story(world: World) -> None:
        stay(world)
        timetables = world.client.timetables
        await timetables.create("it", "report", 0, every=60)
        await asyncio.gather(
            timetables.change("it", body={"new": 1}),
            timetables.change("it", every=90),
            timetables.change("it", missed="skip"),
            timetables.pause("it"),
        )
        found = await timetables.show("it")
        assert (found.body, found.every_s, found.missed) == ({"new": 1}, 90.0, "skip")
        assert found.paused

    simulate(1, story)


def test_a_zone_that_has_vanished_holds_up_only_its_own_timetable() -> None:
    """It is tried again, and says why."""

    async def story(world: World) -> None:
        got = stay(world)
        plan = Schedule("lost", "* * * * *", "Atlantis/Capital", version=7)
        made = (b'"lost"', TimetableOrigin.made, world.clock.now_ms())
        assert await world.store.timetable_add(Timetabled(plan, "report", Missed.latest, *made))
        await world.client.timetables.create("good", "report", "good", cron="* * * * *")
        world.start("one")
        await asyncio.sleep(200)
        assert got == ["good"] * 3
        lost = await world.client.timetables.show("lost")
        assert "'Atlantis/Capital' is not a time zone" in lost.error
        await world.client.timetables.change("lost", zone="UTC")
        await asyncio.sleep(60)
        assert "lost" in got

    simulate(1, story)


def test_a_full_tenant_gets_its_tick_later() -> None:
    async def story(world: World) -> None:
        got = stay(world)
        world.start("one")
        await asyncio.sleep(1)
        await world.client.timetables.create("it", "report", 1, cron="0 * * * *")
        member = world.members["one"]
        member.road._sending.allowance._full["default"] = "full"
        await asyncio.sleep(HOUR_S + 5)
        assert got == []
        assert (await world.client.timetables.show("it")).error == "full"
        member.road._sending.allowance._full.clear()
        await asyncio.sleep(60)
        assert got == [1]
        assert (await world.client.timetables.show("it")).error == ""

    simulate(1, story)


# Those of programs


def declared(world: World, got: list[str]) -> None:
    def equip(_name: str, road: Postroad) -> None:
        @road.every("0 * * * *", tz="Europe/Berlin", name="tidy", missed="skip")
        async def tidy() -> None:
            got.append("tidy")

    equip("client", world.client)
    world.equip = equip


def test_a_timetable_of_code_is_listed_paused_and_run_but_not_changed() -> None:
    async def story(world: World) -> None:
        got: list[str] = []
        declared(world, got)
        world.start("one")
        world.start("two")
        await asyncio.sleep(HOUR_S + 60)
        timetables = world.client.timetables
        (one,) = (await timetables.list()).timetables
        assert (one.name, one.origin, one.queue, one.missed) == (
            *("tidy", "code", "cron:tidy"),
            "skip",
        )
        assert one.next_at_ms == world.clock.now_ms() + 3_540_000
        for refused in (timetables.change("tidy", cron="* * * * *"), timetables.delete("tidy")):
            with pytest.raises(DeclaredInCode, match=r"is declared by a program \(road.every\)"):
                await refused
        await timetables.pause("tidy")
        await asyncio.sleep(2 * HOUR_S)
        assert got == ["tidy"]
        await timetables.run_now("tidy")
        await timetables.resume("tidy")
        await asyncio.sleep(HOUR_S)
        assert got == ["tidy"] * 3
        world.crash("one")
        world.crash("two")
        await asyncio.sleep(3 * HOUR_S)
        await timetables.delete("tidy")  # no program declares it any more
        assert (await timetables.list()).timetables == ()

    simulate(1, story)


def test_a_program_does_not_take_the_name_of_one_that_was_made() -> None:
    async def story(world: World) -> None:
        got: list[str] = []
        declared(world, got)
        await world.client.timetables.create("tidy", "cron:tidy", 0, cron="30 * * * *")
        world.start("one")
        await asyncio.sleep(HOUR_S + 60)
        assert got == ["tidy"]
        assert (await world.client.timetables.show("tidy")).origin == "made"
        await world.client.timetables.delete("tidy")
        await asyncio.sleep(2 * HOUR_S)
        assert got == ["tidy"] * 3
        assert (await world.client.timetables.show("tidy")).origin == "code"

    simulate(1, story)


# What is refused


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "one of them"),
        ({"cron": "* * * * *", "every": 60}, "one of them"),
        ({"cron": "61 * * * *"}, "bad minute"),
        ({"cron": "* " * 101}, "at most 200"),
        ({"cron": "* * * * *", "zone": "Nowhere/Town"}, "is not a time zone"),
        ({"every": 0.5}, "one second to a year"),
        ({"every": 1e9}, "one second to a year"),
        ({"every": 60, "missed": "none"}, "'latest', 'all', 'skip'"),
        ({"every": 60, "name": "x" * 201}, "at most 200"),
        ({"every": 60, "name": ""}, "name is empty"),
        ({"every": 60, "queue": "gopher://there"}, "gopher:// is not understood"),
        ({"every": 60, "body": {1, object()}}, "cannot be written as JSON"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_stored(given: dict[str, Any], says: str) -> None:
    async def story(world: World) -> None:
        stay(world)
        asked: dict[str, Any] = {"name": "it", "queue": "report", "body": 1} | given
        with pytest.raises(BadInput, match=says):
            await world.client.timetables.create(**asked)
        assert (await world.client.timetables.list()).timetables == ()

    simulate(1, story)


def test_a_tenant_has_so_many_of_its_own_and_pages_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(world: World) -> None:
        stay(world)
        timetables = world.client.timetables
        allowance = world.client._sending.allowance
        monkeypatch.setattr(allowance, "_limits", type(allowance._limits)(timetables_max=3))
        for name in ("b", "a", "c"):
            await timetables.create(name, "report", 1, every=60)
        with pytest.raises(TenantFull, match=r"--timetables-max"):
            await timetables.create("d", "report", 1, every=60)
        with pytest.raises(Conflict, match="has a timetable 'a'"):
            monkeypatch.setattr(allowance, "_limits", type(allowance._limits)())
            await timetables.create("a", "report", 1, every=60)
        await timetables.create("a", "report", 1, every=60, tenant="acme")
        page = await timetables.list(limit=2)
        assert ([one.name for one in page.timetables], page.after) == (["a", "b"], "b")
        assert [one.name for one in (await timetables.list(after="b")).timetables] == ["c"]
        with pytest.raises(UnknownTimetable):
            await timetables.show("b", tenant="acme")
        with pytest.raises(BodyTooLarge):
            await timetables.change("a", body="x" * 65_536)
        with pytest.raises(BadInput, match="say what is to be different"):
            await timetables.change("a")

    simulate(1, story)


def test_a_queue_that_was_deleted_as_unused_is_made_again_for_the_next_tick() -> None:
    async def story(world: World) -> None:
        got = stay(world)
        world.start("one")
        await asyncio.sleep(1)
        await world.client.timetables.create("it", "report", 1, cron="0 * * * *")
        await asyncio.sleep(HOUR_S)
        queue = await world.store.find_queue("default", "report")
        assert queue is not None
        await asyncio.sleep(60)  # its lanes are given back
        await world.store.write("retain", lambda db: delete_queue(db, queue.id))
        assert await world.store.find_queue("default", "report") is None
        await asyncio.sleep(HOUR_S)
        assert got == [1, 1]

    simulate(1, story)


def test_a_change_settles_what_is_due_though_its_queue_was_deleted_as_unused() -> None:
    async def story(world: World) -> None:
        timetables = world.client.timetables
        await timetables.create("it", "sim://box/1", 1, cron="0 * * * *")
        queue = await world.store.find_queue("default", "sim://box/1")
        assert queue is not None
        await world.store.write("retain", lambda db: delete_queue(db, queue.id))
        await asyncio.sleep(HOUR_S + 60)
        await timetables.change("it", cron="30 * * * *")
        assert await ticks(world, "it") == [1]

    simulate(1, story)
