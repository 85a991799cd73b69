"""What a job queue offers, on RabbitMQ: what works there, and what is refused by name."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from postroad import HoldQueue, Message, Postroad, Send
from postroad.errors import BadInput, NotOnRabbitMQ
from postroad.model.batch import batch_text
from tests.rabbitmq.roads import a_road, running, until, until_state


def a_road_with_handler(dsn: str, folder: Path) -> Postroad:
    road = a_road(dsn, folder)

    @road.handler("resize")
    async def resize(message: Message[Any]) -> None:
        message.progress(1, 2, "half of it")

    return road


async def test_what_a_broker_cannot_do_for_jobs_is_refused_by_name(
    dsn: str, tmp_path: Path
) -> None:
    async with a_road_with_handler(dsn, tmp_path) as road:
        receipt = await road.send("resize", {})
        name = batch_text(1)
        refused: list[Callable[[], Awaitable[object]]] = [
            lambda: road.send("resize", {}, replace="k", delay=5),
            lambda: road.send("resize", {}, replace="k", delay=5, confirm=False),
            lambda: road.send("resize", {}, unique_for=60),
            lambda: road.send_many([("resize", 1), Send("resize", 2, unique_for=60)]),
            lambda: road.batch([("resize", 1)]),
            lambda: road.chain([("resize", 1), ("resize", 2)]),
            lambda: road.batches.get(name),
            road.batches.list,
            lambda: road.batches.wait(name, timeout=1),
            lambda: road.batches.cancel(name),
            lambda: road.cancel(receipt.id, running=True),
            lambda: road.jobs.wait(receipt.id, timeout=1),
            lambda: road.jobs.result(receipt.id, timeout=1),
            road.jobs.running,
        ]
        told = [await refusal(wish()) for wish in refused]
        assert [text for text in told if "SQLite" not in text] == []
        with pytest.raises(BadInput):
            await road.send("resize", {}, at_most=5)
        await road.run(until_idle=True)
        assert (await road.explain(receipt.id)).state == "delivered"  # progress is not kept


async def refusal(wish: Awaitable[object]) -> str:
    """The text of the named error."""
    try:
        return f"granted: {await wish}"
    except NotOnRabbitMQ as error:
        return str(error)
    except BadInput as error:
        return f"{type(error).__name__}: {error}"


async def test_a_handler_holds_its_queue(dsn: str, tmp_path: Path) -> None:
    road, called, closed = a_road(dsn, tmp_path), list[object](), True

    @road.handler("bank", concurrency=1)
    async def bank(message: Message[int]) -> None:
        called.append(message.body)
        if closed:
            raise HoldQueue(3_600, "the account is closed")

    async with road:
        receipts = await road.send_many([("bank", number) for number in range(4)])
        async with running(road):
            for receipt in receipts:
                await until_state(road, receipt.id, "held")
            assert (await road.explain_queue("bank")).because == "handler: the account is closed"
            before, closed = len(called), False
            await road.unblock("bank")
            for receipt in receipts:
                await until_state(road, receipt.id, "delivered")
    assert len(called) == before + 4


async def test_a_handler_gets_a_list(dsn: str, tmp_path: Path) -> None:
    road, got = a_road(dsn, tmp_path), list[object]()

    @road.handler("index", batch=5, within=0.5)
    async def index(messages: list[Message[int]]) -> None:
        got.extend(message.body for message in messages)

    async with road:
        await road.send_many([("index", number) for number in range(7)])
        async with running(road):
            await until(lambda: came(got, 7))
    assert sorted(map(str, got)) == [str(number) for number in range(7)]


async def test_a_timetable_is_made_while_the_road_runs(dsn: str, tmp_path: Path) -> None:
    road, got = a_road(dsn, tmp_path), list[object]()

    @road.handler("report")
    async def report(message: Message[Any]) -> None:
        got.append(message.body)

    async with road, running(road):
        made = await road.timetables.create("often", "report", {"for": "ann"}, every=60)
        assert (made.name, made.paused) == ("often", False)
        _ = await road.timetables.run_now("often")
        await until(lambda: came(got, 1))
        _ = await road.timetables.change("often", every=1, body={"for": "bob"})
        await until(lambda: came(got, 3))
        assert (await road.timetables.pause("often")).paused
        await road.timetables.delete("often")
        assert (await road.timetables.list()).timetables == ()
    assert got[:3] == [{"for": "ann"}, {"for": "bob"}, {"for": "bob"}]


async def came(got: list[object], count: int) -> bool:
    return len(got) >= count
