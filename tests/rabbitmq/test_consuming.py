"""Lines that are taken and given back while they are being opened."""

import asyncio
from pathlib import Path

from pamqp import commands

from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.rabbitmq.consuming.consumers import Consumers
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.sqlite.store import SqliteStore
from tests.rabbitmq.test_arriving import World
from tests.rabbitmq.wires import declare, linked, until

TARGET = "handler.resize"


class Opening:
    """A line that is declared when it may be."""

    def __init__(self, folder: Path, link: AmqpConnection) -> None:
        self.may_go = asyncio.Event()
        self.asked = 0
        self._connection = link
        world = World(SqliteStore(folder / "state.db", SystemClock()))
        self.consuming = Consumers(
            world.delivered,
            world.arrivals,
            lambda target: target,
            self._declare,
            10,
            world.clock,
            make_log("error"),
        )

    async def _declare(self, target: str) -> None:
        self.asked += 1
        await self.may_go.wait()
        await declare(await self._connection.channel(), target)

    async def consumers(self) -> int:
        channel = await self._connection.channel()
        told = await channel.call(commands.Queue.Declare(queue=TARGET, passive=True))
        return int(told.consumer_count)


async def test_a_line_that_is_given_back_while_it_is_opened_is_not_consumed(
    dsn: str, tmp_path: Path
) -> None:
    async with linked(dsn) as link:
        opening = Opening(tmp_path, link)
        await opening.consuming.up(link)
        taken = asyncio.create_task(opening.consuming.take(TARGET))
        await until(lambda: opening.asked)
        await opening.consuming.give_back(TARGET)
        opening.may_go.set()
        await taken
        assert opening.consuming.watched() == []
        while await opening.consumers():  # a channel that is closed goes in its own time
            await asyncio.sleep(0.01)


async def test_a_line_that_is_taken_twice_at_once_is_consumed_once(
    dsn: str, tmp_path: Path
) -> None:
    async with linked(dsn) as link:
        opening = Opening(tmp_path, link)
        await opening.consuming.up(link)
        both = [asyncio.create_task(opening.consuming.take(TARGET)) for _ in range(2)]
        await until(lambda: opening.asked)
        opening.may_go.set()
        await asyncio.gather(*both)
        assert len(opening.consuming.watched()) == 1
        assert await opening.consumers() == 1
