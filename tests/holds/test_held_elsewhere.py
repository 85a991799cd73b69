"""What a handler holds in one process is held in all."""

import asyncio
from pathlib import Path

from postroad import HoldQueue, Message, Postroad, Send
from tests.holds import bank
from tests.servers.postgres import PrivatePostgres

WAIT_S = 120.0


async def test_a_handler_in_a_child_process_holds_its_queue_or_a_key(
    road: Postroad, tmp_path: Path
) -> None:
    road.handler("bank", process=True, concurrency=1, ordered=False)(bank.pay)
    calls = tmp_path / "calls"
    queue = {"file": str(calls), "hold": "queue"}
    async with asyncio.timeout(WAIT_S):
        await road.send_many([Send("bank", queue, order_key="one") for _ in range(5)])
        await road.run(until_idle=True)
        assert calls.read_text().count("called") == 1
        assert (await road.explain_queue("bank")).because == "handler: the account is closed"
        (tmp_path / "open").touch()
        await road.unblock("bank")
        await road.run(until_idle=True)
        assert (await road.store.counts())["delivered"] == 5
        (tmp_path / "open").unlink()
        key = {"file": str(calls), "hold": "key"}
        await road.send_many([Send("bank", key, order_key="two") for _ in range(3)])
        await road.run(until_idle=True)
        assert calls.read_text().count("called") == 1 + 5 + 1
        assert not (await road.explain_queue("bank")).because


def test_a_queue_that_one_process_holds_is_held_in_the_other(server: PrivatePostgres) -> None:
    dsn, called, closed = server.create_road(), list[int](), [True]

    def bank() -> Postroad:
        road = Postroad(dsn)

        @road.handler("bank", concurrency=1)
        async def pay(message: Message[int]) -> None:
            called.append(message.body)
            if closed[0]:
                raise HoldQueue(3600, "the account is closed")

        return road

    async def story() -> None:
        async with asyncio.timeout(WAIT_S), bank() as one, bank() as other:
            await one.send("bank", 0)
            await one.run(until_idle=True)
            assert called == [0]
            await one.send_many([("bank", n) for n in range(1, 40)])
            both = (one, other)
            await asyncio.gather(*(road.run(until_idle=True) for road in both))
            assert called == [0]
            told = [(await road.explain_queue("bank")).because for road in both]
            assert told == ["handler: the account is closed"] * 2
            closed[0] = False
            await other.unblock("bank")
            while (await one.store.counts())["delivered"] < 40:
                await asyncio.gather(*(road.run(until_idle=True) for road in both))
            assert sorted(called) == [0, *range(40)]

    asyncio.run(story())
