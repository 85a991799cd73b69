"""The ledger names every breach: each one is planted here."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from postroad.model.ids import to_text
from postroad.model.states import State
from postroad.stores.sqlite import database
from postroad.stores.sqlite.database import Database
from tests.rig import receivers
from tests.rig.ledger import Breach
from tests.rig.world import World, simulate


async def change(world: World, *statements: str) -> None:
    """Something is written that no verb of the store writes."""

    def work(db: Database) -> None:
        for statement in statements:
            db.connection.execute(statement)

    await world.store.write("other", work)


async def delivered(world: World) -> int:
    """A message that has come to its end."""
    world.start("one")
    number = await world.send("sim://ash/a")
    await asyncio.sleep(10)
    return number


def in_s(world: World, seconds: float) -> datetime:
    """A moment from now."""
    now = datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC)
    return now + timedelta(seconds=seconds)


async def out_of_a_final_state(world: World) -> None:
    """Delivered, and on the road again."""
    number = await delivered(world)
    await change(
        world,
        "insert into message (id, rung_id, place, due, level, accepted_at, expires_at, headers,"
        " body) select id, 1, 0, 0, 0, accepted_at, 1 << 62, x'', x'' from history",
        "delete from history",
    )
    assert (await world.store.states())[number] is State.waiting


async def uncertain_without_a_try(world: World) -> None:
    """Nobody had begun to send it."""
    await world.send("sim://ash/a", delay=600)
    await change(world, "update rung set level = -1")


async def uncertain_row(world: World) -> None:
    """The same, seen when its row is touched."""
    await uncertain_without_a_try(world)
    await change(world, "update message set due = due + 1")


async def in_two_places(world: World) -> None:
    """Delivered and dead."""
    await delivered(world)
    await change(
        world,
        "insert into dead select id, queue_id, 1, 'expired', 0, 0, 1, 0, 0, 0, '', '', 0, x'', x''"
        " from history",
    )


async def gone(world: World) -> None:
    """Deleted while it waited."""
    await world.send("sim://ash/a", delay=600)
    await change(world, "delete from message where id > 0")


async def behind_the_witness(world: World) -> None:
    """Changed by another way than the store's."""
    await delivered(world)
    db = world.store._databases[0].connection
    db.execute("update history set state = 'cancelled'")


async def started_when_final(world: World) -> None:
    """A try of what is delivered."""
    number = await delivered(world)
    owner = world.ledger.holder("ash/0")
    world.ledger.started("ash/0", owner, number, world.clock.now_ms())


async def miscounted_attempts(world: World) -> None:
    """One more than were recorded."""
    await delivered(world)
    await change(world, "update history set attempts = attempts + 1")


async def handled_twice(world: World) -> None:
    """A second time, where the first was in doubt and that is the end of it."""
    world.behaviours["ash"] = receivers.doubtful(1.0)
    world.start("one")
    await world.send("sim://ash/once")
    await asyncio.sleep(10)
    world.ledger.book.append(replace(world.ledger.book[0]))


async def started_past_its_deadline(world: World) -> None:
    """The receiver's book says when."""
    world.start("one")
    number = await world.send("sim://ash/a", expires_at=in_s(world, 60))
    await asyncio.sleep(10)
    sent = world.ledger.sent[number]
    world.ledger.accepted(replace(sent, expires_ms=sent.due_ms))


async def started_after_its_last_try(world: World) -> None:
    """Whoever cancelled it was told that it was being sent for the last time."""
    world.behaviours["ash"] = receivers.flaky(1.0)
    world.start("one")
    world.ledger.last_try(await world.send("sim://ash/a"), owner=2)
    await asyncio.sleep(10)


async def started_on_a_paused_queue(world: World) -> None:
    """Its engine has heard of the pause long ago."""
    number = await world.send("sim://ash/a", delay=600)
    await world.client.pause("sim://ash/a")
    await asyncio.sleep(10)
    world.ledger.started("ash/0", 1, number, world.clock.now_ms())


async def started_on_a_paused_lane(world: World) -> None:
    """The same for all its queues."""
    number = await world.send("sim://ash/a", delay=600)
    await world.client.lanes.pause(1)
    await asyncio.sleep(10)
    world.ledger.started("ash/0", 1, number, world.clock.now_ms())


BREACHES = [
    (out_of_a_final_state, "legal states: .* was delivered and is waiting"),
    (uncertain_without_a_try, "legal states: .* is uncertain, and was last seen waiting"),
    (uncertain_row, "legal states: .* was waiting and is uncertain"),
    (in_two_places, "legal states: .* is dead and delivered"),
    (gone, "no loss: .* was waiting and is nowhere"),
    (behind_the_witness, "legal states: .* is cancelled, and was last seen delivered"),
    (started_when_final, "legal states: .* was started when it was delivered"),
    (miscounted_attempts, "counts: .* has 2 attempts, 1 were recorded"),
    (handled_twice, "at most once: .* was handled 2 times"),
    (started_past_its_deadline, "deadline: .* was started when it had expired"),
    (started_after_its_last_try, "cancel: .* was started after the try that was its last"),
    (started_on_a_paused_queue, "pause: .* was started, and sim://ash/a is paused"),
    (started_on_a_paused_lane, "pause: .* was started, and ash/0 is paused"),
]


@pytest.mark.parametrize(
    ("plant", "named"), BREACHES, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_breach_is_named(plant: Callable[[World], Awaitable[None]], named: str) -> None:
    """With its promise first."""

    async def story(world: World) -> None:
        await plant(world)
        world.check(await world.store.states())

    with pytest.raises(Breach, match=named):
        simulate(1, story)


def test_numbers_that_do_not_add_up_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the store counts is what its tables hold, state by state."""
    monkeypatch.setitem(database.QUERIES, "counts", "select 'waiting', 1 where ?1 > 0")

    async def story(world: World) -> None:
        await delivered(world)
        world.check(await world.store.states())

    with pytest.raises(Breach, match="counts: 1 waiting in numbers, 0 by id"):
        simulate(2, story)


def test_a_long_and_lawful_life_breaks_nothing() -> None:
    """Held, retried, in doubt, cancelled, expired, dead, replayed; and the numbers add up."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/a"] = receivers.flaky(1.0)
        world.behaviours["sim://ash/once"] = receivers.doubtful(1.0)
        world.start("one")
        dead = await world.send("sim://ash/a")
        doubted = await world.send("sim://ash/once")
        fleeting = await world.send("sim://ash/b", delay=5, expires_at=in_s(world, 8))
        dropped = await world.send("sim://ash/b", delay=60)
        await world.client.pause("sim://ash/b")
        await asyncio.sleep(10)
        assert (await world.store.states())[dropped] is State.held
        await world.client.cancel(to_text(dropped))
        await world.client.resume("sim://ash/b")
        states = await world.settled(within_s=3600)
        ends = [states[number] for number in (dead, doubted, fleeting, dropped)]
        assert ends == [State.dead, State.uncertain, State.dead, State.cancelled]
        world.behaviours["sim://ash/a"] = receivers.good()
        await world.client.dead.replay(ids=[to_text(dead)])
        states = await world.settled(within_s=60)
        assert states[dead] is State.delivered
        world.check(states)

    simulate(3, story)
