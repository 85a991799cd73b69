"""Unused queues go by themselves, and who still knows one sends to it as if nothing had happened."""

import asyncio

import pytest

from postroad import Message, Postroad, Receipt
from postroad.engine.drafting import Send
from postroad.model.ids import to_number
from postroad.model.limits import Limits
from tests.rig.world import World, simulate

DAY_S = 86_400.0
DAY_MS = 86_400_000
FEW_DAYS = Limits(queue_unused_ms=4 * DAY_MS, history_ms=DAY_MS, safety_poll_s=DAY_S)


async def queues(world: World) -> set[str]:
    """The queues of the road, by the store."""
    sql = "select name from queue"
    rows = await world.store.read("test", lambda db: db.connection.execute(sql).fetchall())
    return {str(name) for (name,) in rows}


@pytest.mark.wide
def test_one_that_is_used_daily_stays_and_another_goes_and_comes_back() -> None:
    async def story(world: World) -> None:
        world.start("one")
        world.start("two")
        await world.send("sim://a/idle")
        for _ in range(9):
            await world.send("sim://b/daily")
            await asyncio.sleep(DAY_S)
        assert await queues(world) == {"sim://b/daily"}
        await world.send("sim://a/idle")  # by a road that knows the old one
        await asyncio.sleep(60)
        assert len(world.ledger.book) == 11
        assert {receipt.message for receipt in world.ledger.book} == set(world.ledger.sent)

    simulate(1, story, FEW_DAYS)


def test_every_way_to_send_makes_one_that_is_gone_anew() -> None:
    names = [f"sim://s/{n}" for n in range(6)]

    async def story(world: World) -> None:
        world.start("one")
        client = world.client
        sent: list[int] = []

        async def send_all() -> None:
            one = await client.send(names[0], 1)
            many = await client.send_many([Send(names[1], 1), Send(names[2], 1)])
            each = await client.send_each([Send(names[3], 1), Send(names[4], 1)])
            own = world.store.connection()
            own.execute("begin immediate")
            receipts = [one, *many, *each, await client.send_in(own, names[5], 1)]
            own.execute("commit")
            own.close()
            sent.extend(to_number(r.id) for r in receipts if isinstance(r, Receipt))

        await send_all()
        await asyncio.sleep(8 * DAY_S)
        assert await queues(world) == set()
        await send_all()
        assert await queues(world) == set(names)
        await asyncio.sleep(60)
        assert [r.message for r in world.ledger.book] != []
        assert sorted(r.message for r in world.ledger.book) == sorted(sent)
        assert len(sent) == 12

    simulate(2, story, FEW_DAYS)


def test_a_handlers_queue_stays_for_those_who_only_send() -> None:
    async def story(world: World) -> None:
        came: list[object] = []

        def equip(_name: str, road: Postroad) -> None:
            @road.handler("h")
            async def handle(message: Message[object]) -> None:
                came.append(message.body)

        world.equip = equip
        world.start("one")
        await asyncio.sleep(8 * DAY_S)
        await world.client.send("h", "rare")  # it has no such handler
        await asyncio.sleep(60)
        assert came == ["rare"]

    simulate(3, story, FEW_DAYS)
