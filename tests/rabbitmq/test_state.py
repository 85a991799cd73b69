"""What is kept beside the broker: the same on SQLite and on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroad.model.block import Block, BlockKind
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.dead import TOP, DeadFilter, ReplayMode
from postroad.model.decide import Move
from postroad.model.entities import Lane, LaneKey, Message, Policy, Queue, QueueSpec
from postroad.model.outcome import Kind, failed
from postroad.model.record import LaneChange, Result
from postroad.model.states import NEVER
from postroad.model.try_details import TryDetails
from postroad.ports.clock import SystemClock
from postroad.stores.postgres.store import PostgresStore
from postroad.stores.rabbitmq.consuming.arrivals import message_of
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.consuming.queue_cache import QueueCache
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.state.broker_state import (
    BrokerState,
    KnownMessage,
    SpentCopy,
    StateBatch,
)
from postroad.stores.rabbitmq.state.tables import PostgresTables, SqliteTables
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.webhooks import read_attempt
from tests.servers.postgres import PrivatePostgres

NOW_MS = 1_767_225_600_000
Ground = tuple[SqliteStore | PostgresStore, BrokerState, Queue]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SqliteStore | PostgresStore:
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "state.db", SystemClock())
    private: PrivatePostgres = request.getfixturevalue("server")
    return PostgresStore(private.create_road(), SystemClock())


@asynccontextmanager
async def opened(store: SqliteStore | PostgresStore) -> AsyncIterator[tuple[BrokerState, Queue]]:
    await store.open()
    spec = QueueSpec("default", "shop", LaneKey("web", "shop"), 1, Policy())
    (queue,) = await store.open_queues([spec])
    tables = SqliteTables(store) if isinstance(store, SqliteStore) else PostgresTables(store)
    try:
        yield BrokerState(tables), queue
    finally:
        await store.close()


def envelope(number: int, hop: int = 0, **more: object) -> Envelope:
    plain = Envelope(
        id=number,
        tenant="default",
        queue="shop",
        shard=0,
        hop=hop,
        level=0,
        attempts=0,
        priority=0,
        accepted_at_ms=NOW_MS,
        due_ms=NOW_MS,
        expires_at_ms=NEVER,
        body=b"\x00body",
        headers=b"{}",
    )
    return Envelope(**{name: getattr(plain, name) for name in plain.__struct_fields__} | more)


def result(message: Message, kind: Kind, move: Move, error: str = "") -> Result:
    note = TryDetails(address="127.0.0.1", headers=b"{}", answer=b"no")
    return Result(message, 1, kind, move, 1, NOW_MS, None, error, 500, NOW_MS, 5, details=note)


async def test_spent_copies_and_noted_starts_are_known(store: SqliteStore | PostgresStore) -> None:
    async with opened(store) as (state, queue):
        message = message_of(envelope(7), queue, 0)
        assert await state.known([7, 8]) == {}
        await state.note([(message, 0)], NOW_MS)
        assert await state.known([7]) == {7: KnownMessage(-1, 1, finished=False)}
        batch = StateBatch(NOW_MS)
        batch.tried(result(message, Kind.failed, Move.climb, failed("no\0pe").error))
        batch.seen(result(message, Kind.failed, Move.climb, failed("no\0pe").error))
        batch.spend(SpentCopy(message, 0, 0, 1, 1, NOW_MS + 1_000))
        await state.write(batch)
        await state.write(batch)  # what is written twice counts once
        assert await state.known([7]) == {7: KnownMessage(0, 0, finished=False)}
        where = await state.place_of(7)
        assert where is not None
        assert (where.queue, where.level, where.attempts) == ("shop", 1, 1)
        (wait,) = await state.waiting_groups(queue.id, 0, NOW_MS)
        assert (wait.lane, wait.level, wait.count) == (queue.lanes[0], 1, 1)
        assert (wait.because, wait.oldest_due_ms) == ("", NOW_MS + 1_000)
        assert [attempt.outcome for attempt in await state.tries(7)] == [Kind.failed]
        seen = [read_attempt(row) for row in await store.select("insight", "tries_of", 7)]
        assert [each.address for each in seen] == ["127.0.0.1"]


async def test_an_older_copy_is_never_unspent(store: SqliteStore | PostgresStore) -> None:
    async with opened(store) as (state, queue):
        message = message_of(envelope(7), queue, 0)
        for hop in (4, 2):
            batch = StateBatch(NOW_MS)
            batch.spend(SpentCopy(message, hop, 0, 1, 1, NOW_MS))
            await state.write(batch)
        assert (await state.known([7]))[7].hop == 4


async def test_a_delivered_message_is_finished_whatever_was_thought_of_it(
    store: SqliteStore | PostgresStore,
) -> None:
    async with opened(store) as (state, queue):
        message = message_of(envelope(7), queue, 0)
        batch = StateBatch(NOW_MS)
        batch.uncertain(result(message, Kind.unknown, Move.doubt), 0)
        await state.write(batch)
        assert (await store.counts())["uncertain"] == 1
        batch = StateBatch(NOW_MS)
        batch.deliver(result(message, Kind.delivered, Move.deliver), 0)
        await state.write(batch)
        counts = await store.counts()
        assert (counts["uncertain"], counts["delivered"]) == (0, 1)
        assert (await state.known([7]))[7].finished


async def test_a_letter_is_buried_once_and_comes_back_with_a_later_hop(
    store: SqliteStore | PostgresStore,
) -> None:
    async with opened(store) as (state, queue):
        letter = envelope(7, 3, reason="exhausted", last_error="no", died_at_ms=NOW_MS)
        grave = (letter, queue.id, queue.lanes[0])
        await state.store_dead([grave], NOW_MS)
        await state.store_dead([grave], NOW_MS)
        dead = await store.dead_page(DeadFilter(), TOP, 10)
        assert [(one.reason, one.error) for one in dead] == [("exhausted", "no")]
        which = DeadFilter(ids=(7,))
        await store.dead_replay(which, ReplayMode.reset, count=1, dry_run=False)
        await state.store_dead([grave], NOW_MS)  # its collector had died before its ack
        assert await store.dead_page(DeadFilter(), TOP, 10) == []
        (back,) = await state.outbox(10)
        assert (back.id, back.hop, back.level, back.body) == (7, 4, 0, b"\x00body")
        batch = StateBatch(NOW_MS)
        batch.republished(message_of(back, queue, 0), back.hop, back.priority)
        await state.write(batch)
        assert await state.outbox(10) == []
        assert await state.known([7]) == {7: KnownMessage(3, 0, finished=False)}
        where = await state.place_of(7)
        assert where is not None
        assert where.queue == "shop"


async def test_blocks_and_circuits_are_written_where_the_store_reads_them(
    store: SqliteStore | PostgresStore,
) -> None:
    async with opened(store) as (state, queue):
        batch = StateBatch(NOW_MS)
        block = Block(BlockKind.unreachable, NOW_MS + 1, "away", 2, NOW_MS)
        batch.block(queue.id, block)
        batch.circuit(LaneChange(queue.lanes[0], 1, Circuit(3, 1, NOW_MS + 5, NOW_MS, "away")))
        await state.write(batch)
        found = await store.find_queue("default", "shop")
        assert found is not None
        assert found.block == block
        (lane,) = await state.lanes(queue.lanes)
        assert (lane.circuit.is_open, lane.key) == (True, LaneKey("web", "shop"))
        batch = StateBatch(NOW_MS)
        batch.circuit(LaneChange(queue.lanes[0], 1, CLOSED))
        await state.write(batch)
        found = await store.find_queue("default", "shop")
        assert found is not None
        assert found.block is None


async def test_what_is_done_is_forgotten_after_its_time(store: SqliteStore | PostgresStore) -> None:
    async with opened(store) as (state, queue):
        for number, done in ((7, True), (8, False)):
            batch = StateBatch(NOW_MS)
            message = message_of(envelope(number), queue, 0)
            batch.spend(SpentCopy(message, 1, 0, 1, 1, NOW_MS, done=done))
            await state.write(batch)
        assert [wait.count for wait in await state.waiting_groups(0, 0, NOW_MS)] == [1]
        await state.retain(NOW_MS + 1)
        assert set(await state.known([7, 8])) == {8}


async def test_what_was_delivered_waits_no_more_whatever_is_noted_later(
    store: SqliteStore | PostgresStore,
) -> None:
    async with opened(store) as (state, queue):
        for number in (7, 8):
            message = message_of(envelope(number), queue, 0)
            if number == 8:
                await state.note([(message, 0)], NOW_MS)
            batch = StateBatch(NOW_MS)
            batch.deliver(result(message, Kind.delivered, Move.deliver), -1)
            await state.write(batch)
            batch = StateBatch(NOW_MS)  # a copy of it was parked meanwhile
            batch.spend(SpentCopy(message, 1, 0, 0, 0, NOW_MS))
            await state.write(batch)
        assert await state.waiting_groups(0, 0, NOW_MS) == []
        await state.retain(NOW_MS + 1)
        assert {known.hop for known in (await state.known([7, 8])).values()} == {-1}


async def test_a_queue_that_is_being_read_is_found_with_its_lanes(
    store: SqliteStore | PostgresStore,
) -> None:
    """Without them whatever asked second broke: no message was taken in any more."""
    async with opened(store) as (state, queue):
        table = DeliveredMessages(lambda _rings: None)
        book = QueueCache(store, state, table, SystemClock(), 60.0)
        reading, go_on, lanes = asyncio.Event(), asyncio.Event(), state.lanes

        async def slow(ids: Sequence[int]) -> list[Lane]:
            state.lanes = lanes  # type: ignore[method-assign]
            reading.set()
            await go_on.wait()
            return await lanes(ids)

        state.lanes = slow  # type: ignore[method-assign]
        first = asyncio.create_task(book.queue(("default", "shop")))
        await reading.wait()
        second = await book.queue(("default", "shop"))
        assert second == queue
        assert book.lane(queue.lanes[0]).key == LaneKey("web", "shop")
        go_on.set()
        assert await first == queue
