"""Lines that are emptied for as long as there is a link, whatever becomes of a channel."""

import asyncio
from typing import Any

from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.rabbitmq.drain import keep_drained
from postroad.stores.rabbitmq.wire.channel import Channel
from postroad.stores.rabbitmq.wire.properties import Delivery
from tests.rabbitmq.wires import declare, linked, put, until

LOG = make_log("critical")


async def test_a_line_is_drained_on_when_its_channel_has_ended(dsn: str) -> None:
    async with linked(dsn) as link:
        channels: list[Channel] = []
        got: list[bytes] = []
        opened = link.channel

        async def noted(**how: Any) -> Channel:
            channels.append(await opened(**how))
            return channels[-1]

        async def deal(batch: list[Delivery]) -> None:
            got.extend(each.body for each in batch)

        sender = await link.channel(confirms=True)
        queue = await declare(sender, "q")
        link.channel = noted  # type: ignore[method-assign]
        task = asyncio.create_task(keep_drained(link, queue, deal, SystemClock(), LOG))
        await put(sender, queue, b"before")
        await until(lambda: got == [b"before"])
        channels[0].ack(99)  # which nobody has delivered: the broker closes the channel
        await until(lambda: channels[0].lost is not None)
        await put(sender, queue, b"after")
        await until(lambda: got[-1] == b"after")
        task.cancel()
