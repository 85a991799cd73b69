"""The collector dies wherever it can; what it moves is neither lost nor there twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from postroad.model.dead import TOP, DeadFilter
from postroad.model.entities import LaneKey, Policy, QueueSpec
from postroad.model.errors import StoreUnavailable
from postroad.model.states import DeadReason
from postroad.ports.clock import SystemClock
from postroad.stores.rabbitmq.base import RabbitBase
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.fleet.batch_consumer import BatchConsumer
from postroad.stores.rabbitmq.fleet.collector import DeadLetterCollector, StoreDead
from postroad.stores.rabbitmq.options import read_options
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome
from postroad.stores.rabbitmq.wire.properties import Delivery
from postroad.stores.sqlite.store import SqliteStore
from tests.rabbitmq.crews import LOG
from tests.rabbitmq.outside import channel_to, depth, until
from tests.rabbitmq.test_catchall import publish
from tests.rabbitmq.test_envelope import PLAIN
from tests.rabbitmq.wires import linked

COUNT = 600
"""More than two batches."""
ALL = DeadFilter()
SPEC = QueueSpec("default", PLAIN.queue, LaneKey("handler", PLAIN.queue), 16, Policy())


class Died(Exception):
    """The process, as far as this test is concerned."""


class Killer:
    """A collector that dies once: before its commit, or between commit and ack."""

    def __init__(self, base: RabbitBase, *, after_commit: bool) -> None:
        self._collector = DeadLetterCollector(base.store_dead, SystemClock())
        self._after_commit = after_commit

    async def handle_batch(self, batch: list[Delivery]) -> list[PublishOutcome]:
        if self._after_commit:
            await self._collector.handle_batch(batch)
        raise Died


@asynccontextmanager
async def opened(dsn: str, folder: Path) -> AsyncIterator[RabbitBase]:
    base = RabbitBase(read_options(dsn), SqliteStore(folder / "state.db", SystemClock()), LOG)
    await base.open()
    try:
        await base.queue_cache.open_queues([SPEC])
        yield base
    finally:
        await base.close()


def letters() -> list[Envelope]:
    dead = replace(PLAIN, hop=4, reason=DeadReason.exhausted, last_error="no", died_at_ms=5)
    return [replace(dead, id=number, shard=number % 16) for number in range(1, COUNT + 1)]


async def fill(dsn: str, base: RabbitBase) -> None:
    async with channel_to(dsn) as channel:
        for letter in letters():
            await publish(channel, base.topology.dead_exchange, "", letter)


async def collect(dsn: str, base: RabbitBase, bury: StoreDead | None = None) -> None:
    """Until the line is empty and acked: a link that is closed returns what was not."""
    collector = DeadLetterCollector(bury or base.store_dead, SystemClock())
    async with linked(dsn) as link, channel_to(dsn) as channel:
        drain = BatchConsumer(base.topology.dead, collector.handle_batch, base.clock, LOG)
        task = asyncio.create_task(drain.run(await link.channel(on_lost=drain.ended)))

        async def all_there() -> bool:
            return await depth(channel, base.topology.dead) == 0 and drain.idle

        assert await until(all_there)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def die(dsn: str, base: RabbitBase, *, after_commit: bool) -> None:
    killer = Killer(base, after_commit=after_commit)
    async with linked(dsn) as link:
        drain = BatchConsumer(base.topology.dead, killer.handle_batch, base.clock, LOG)
        with pytest.raises(Died):
            await drain.run(await link.channel(on_lost=drain.ended))
        link.abort()
    async with channel_to(dsn) as channel:

        async def returned() -> bool:
            return await depth(channel, base.topology.dead) == COUNT

        assert await until(returned)  # the broker needs a moment to see that the link is gone


@pytest.mark.parametrize("after_commit", [False, True])
async def test_a_collector_that_dies_loses_and_repeats_nothing(
    dsn: str, tmp_path: Path, *, after_commit: bool
) -> None:
    async with opened(dsn, tmp_path) as base:
        await fill(dsn, base)
        await die(dsn, base, after_commit=after_commit)
        await collect(dsn, base)
        page = await base.state.dead_page(ALL, TOP, COUNT + 1)
        assert len(page) == COUNT
        assert {one.reason for one in page} == {DeadReason.exhausted}


async def test_a_letter_that_comes_again_after_its_purge_stays_away(
    dsn: str, tmp_path: Path
) -> None:
    async with opened(dsn, tmp_path) as base:
        await fill(dsn, base)
        await die(dsn, base, after_commit=True)
        gone = await base.state.dead_purge(ALL, count=COUNT, dry_run=False)
        assert 0 < gone < COUNT
        await collect(dsn, base)
        assert len(await base.state.dead_page(ALL, TOP, COUNT + 1)) == COUNT - gone


@pytest.mark.wide
async def test_without_the_note_of_its_hop_it_would_come_back(dsn: str, tmp_path: Path) -> None:
    async with opened(dsn, tmp_path) as base:
        await fill(dsn, base)
        await die(dsn, base, after_commit=True)
        await base.state.dead_purge(ALL, count=COUNT, dry_run=False)

        async def unguarded(letters: list[Envelope]) -> None:
            await base.store_dead([letter.again() for letter in letters])

        await collect(dsn, base, unguarded)
        assert len(await base.state.dead_page(ALL, TOP, COUNT + 1)) == COUNT


async def test_while_the_state_store_is_away_letters_wait_in_the_broker(
    dsn: str, tmp_path: Path
) -> None:
    async with opened(dsn, tmp_path) as base:
        await fill(dsn, base)
        tried = 0
        collector = DeadLetterCollector(base.store_dead, SystemClock())

        async def away_at_first(batch: list[Delivery]) -> list[PublishOutcome]:
            nonlocal tried
            tried += 1
            if tried == 1:
                raise StoreUnavailable("away")
            return await collector.handle_batch(batch)

        async with linked(dsn) as link:
            drain = BatchConsumer(base.topology.dead, away_at_first, base.clock, LOG)
            task = asyncio.create_task(drain.run(await link.channel(on_lost=drain.ended)))

            async def all_there() -> bool:
                return len(await base.state.dead_page(ALL, TOP, COUNT + 1)) == COUNT

            assert await until(all_there)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert tried > 1
