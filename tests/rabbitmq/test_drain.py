"""Lines that are emptied for as long as there is a link, whatever becomes of a channel."""

import asyncio
from typing import Any

import pytest

from postroad.model.errors import QueueFull
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.rabbitmq.fleet import batch_consumer
from postroad.stores.rabbitmq.fleet.batch_consumer import consume_in_batches
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.properties import Delivery
from tests.rabbitmq.wires import declare, linked, put, until

LOG = make_log("critical")


async def test_a_line_is_drained_on_when_its_channel_has_ended(dsn: str) -> None:
    async with linked(dsn) as link:
        channels: list[AmqpChannel] = []
        got: list[bytes] = []
        opened = link.channel

        async def noted(**how: Any) -> AmqpChannel:
            channels.append(await opened(**how))
            return channels[-1]

        async def deal(batch: list[Delivery]) -> list[PublishOutcome]:
            got.extend(each.body for each in batch)
            return [None] * len(batch)

        sender = await link.channel(confirms=True)
        queue = await declare(sender, "q")
        link.channel = noted  # type: ignore[method-assign]
        task = asyncio.create_task(consume_in_batches(link, queue, deal, SystemClock(), LOG))
        await put(sender, queue, b"before")
        await until(lambda: got == [b"before"])
        channels[0].ack(99)  # which nobody has delivered: the broker closes the channel
        await until(lambda: channels[0].lost is not None)
        await put(sender, queue, b"after")
        await until(lambda: got[-1] == b"after")
        task.cancel()


async def test_what_is_dealt_with_is_not_dealt_with_again_for_what_is_refused(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_consumer, "PAUSE_S", 0.001)
    async with linked(dsn) as link:
        done: list[bytes] = []
        refused = 0

        def became(delivery: Delivery) -> PublishOutcome:
            nonlocal refused
            if delivery.body == b"3" and refused < 5:
                refused += 1
                return QueueFull("it is full")
            done.append(delivery.body)
            return None

        async def deal(batch: list[Delivery]) -> list[PublishOutcome]:
            return [became(each) for each in batch]

        sender = await link.channel(confirms=True)
        queue = await declare(sender, "q")
        for number in range(8):
            await put(sender, queue, b"%d" % number)
        task = asyncio.create_task(consume_in_batches(link, queue, deal, SystemClock(), LOG))
        await until(lambda: len(done) >= 8)
        assert sorted(done) == [b"%d" % number for number in range(8)]
        task.cancel()
        await asyncio.wait([task])
