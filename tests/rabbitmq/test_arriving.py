"""Arrivals: copies that are looked at while something else becomes of their message."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from postroad.model.dead import DeadFilter, ReplayMode
from postroad.model.decide import Move
from postroad.model.entities import LaneKey, Message, Policy, QueueSpec
from postroad.model.errors import QueueFull, StoreUnavailable
from postroad.model.outcome import Kind
from postroad.model.record import Look, Record, Result, Want
from postroad.model.states import NEVER
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.rabbitmq.consuming import arrivals
from postroad.stores.rabbitmq.consuming.arrivals import Arrivals, IncomingDelivery
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.consuming.queue_cache import QueueCache
from postroad.stores.rabbitmq.envelope import Envelope, pack
from postroad.stores.rabbitmq.publishing.outbox import Outbox
from postroad.stores.rabbitmq.publishing.recording import ResultRecorder
from postroad.stores.rabbitmq.publishing.republisher import Republisher
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome, RoutedCopy, Routes
from postroad.stores.rabbitmq.state.broker_state import (
    BrokerState,
    KnownMessage,
    StateBatch,
)
from postroad.stores.rabbitmq.state.tables import SqliteTables
from postroad.stores.rabbitmq.topology.topology import Topology
from postroad.stores.rabbitmq.wire.properties import Delivery, Properties
from postroad.stores.sqlite.store import SqliteStore
from tests.rabbitmq.test_table import Slip

LINE = "shard.3"
OWNER = 1


class SlowState(BrokerState):
    """Knows at once, and says so when it is let. `before_write`: once, before the next write."""

    def __init__(self, tables: SqliteTables) -> None:
        super().__init__(tables)
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.before_write: Callable[[], Awaitable[None]] | None = None

    async def write(self, batch: StateBatch) -> None:
        meanwhile, self.before_write = self.before_write, None
        if meanwhile is not None:
            await meanwhile()
        await super().write(batch)

    async def known(self, ids: Iterable[int]) -> dict[int, KnownMessage]:
        known = await super().known(ids)
        self.asked.set()
        await self.may_answer.wait()
        return known


class Posted:
    """An outlet that keeps what goes out. `refusals`: what so often finds its queue full."""

    def __init__(self) -> None:
        self.copies: list[RoutedCopy] = []
        self.refusals: dict[int, int] = {}

    @property
    def ids(self) -> list[int]:
        return [post.envelope.id for post in self.copies]

    async def publish(self, posts: Sequence[RoutedCopy]) -> list[PublishOutcome]:
        return [self._publish(post) for post in posts]

    def _publish(self, post: RoutedCopy) -> PublishOutcome:
        if left := self.refusals.get(post.envelope.id, 0):
            self.refusals[post.envelope.id] = left - 1
            return QueueFull("it is full")
        self.copies.append(post)
        return None


class World:
    """One queue, its state file, and what arrives of it."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.clock = SystemClock()
        self.state = SlowState(SqliteTables(store))
        self.delivered = DeliveredMessages(lambda _rings: None)
        self.copy_publisher = Posted()
        self.queue_cache = QueueCache(store, self.state, self.delivered, self.clock, float("inf"))
        routes = Routes(Topology())
        shifter = Republisher(self.copy_publisher, self.state, self.delivered)
        self.recorder = ResultRecorder(self.delivered, routes, shifter, self.clock)
        log = make_log("error")
        self.arrivals = Arrivals(
            self.delivered, self.queue_cache, self.state, shifter, routes, self.clock, log
        )
        self.delivered.open(LINE)

    def deliver(self, number: int, hop: int, wait_ms: int = 0, queue: str = "shop") -> Slip:
        """A copy of a message, which was delivered to somebody before."""
        now_ms = self.clock.now_ms()
        times = (now_ms, now_ms + wait_ms, NEVER)
        return self.arrive(Envelope(number, "default", queue, 0, hop, 0, 0, 0, *times, b"{}"))

    def arrive(self, envelope: Envelope, *, redelivered: bool = True) -> Slip:
        """This copy of a message."""
        packed = Properties(headers=dict(pack(envelope))).pack()
        slip = Slip()
        delivery = Delivery(1, redelivered, "", LINE, packed, b"{}")
        self.arrivals.take(IncomingDelivery(delivery, slip, LINE))
        return slip

    async def settled(self) -> None:
        while not self.arrivals.idle:
            await asyncio.sleep(0)

    def owned(self) -> Message:
        """The one message that could go, now of an owner."""
        (message,) = self.all_owned()
        return message

    def all_owned(self) -> Sequence[Message]:
        """The messages that could go, now of an owner."""
        now_ms = self.clock.now_ms()
        (lane,) = self.delivered.claim(OWNER, range(7), ["web"], 10, (), now_ms).lanes
        (rung,) = self.delivered.look(Look(lane.id, -1), now_ms).rungs
        return self.delivered.fetch(Want(rung.id, -1, -1, 9), now_ms).messages

    async def succeeded(self, message: Message) -> None:
        """A try of it has ended well."""
        await self._became([message], Kind.delivered, Move.deliver)

    async def failed(self, *messages: Message) -> None:
        """Tries of them have ended badly."""
        await self._became(messages, Kind.failed, Move.climb)

    async def _became(self, messages: Sequence[Message], kind: Kind, move: Move) -> None:
        now_ms = self.clock.now_ms()
        what = (kind, move, 1, now_ms + 60_000, None, "", 200, now_ms, 5)
        results = [Result(message, 1, *what) for message in messages]
        await self.recorder.record(Record(OWNER, results, [], []))


@asynccontextmanager
async def a_world(folder: Path) -> AsyncIterator[World]:
    store = SqliteStore(folder / "state.db", SystemClock())
    await store.open()
    world = World(store)
    spec = QueueSpec("default", "shop", LaneKey("web", "shop"), 1, Policy())
    await world.queue_cache.open_queues([spec])
    task = asyncio.create_task(world.arrivals.run())
    try:
        yield world
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.close()


async def started_and_lost(world: World) -> Message:
    """A try is under way, and its line is lost."""
    world.state.may_answer.set()
    world.deliver(7, 0)
    await world.settled()
    message = world.owned()
    world.delivered.drop_source(LINE)
    world.state.may_answer.clear()
    world.state.asked.clear()
    return message


async def test_a_copy_that_is_looked_at_while_an_old_try_delivers_is_not_tried(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        message = await started_and_lost(world)
        slip = world.deliver(7, 0)
        await world.state.asked.wait()  # nothing is known of it yet
        await world.succeeded(message)
        world.state.may_answer.set()
        await world.settled()
        assert (world.delivered.messages, slip.said) == ({}, ["ack"])
        assert (await world.store.counts())["delivered"] == 1


async def test_a_copy_that_came_while_a_success_was_written_is_not_tried(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        message = await started_and_lost(world)
        slip = world.deliver(7, 2)
        await world.state.asked.wait()

        async def meanwhile() -> None:
            world.state.may_answer.set()
            await world.settled()
            assert set(world.delivered.messages) == {7}

        world.state.before_write = meanwhile
        await world.succeeded(message)
        assert (world.delivered.messages, slip.said) == ({}, ["ack"])


async def test_a_newer_copy_of_what_an_old_one_delivered_is_not_tried(tmp_path: Path) -> None:
    """A peer had got the message too, had failed, and its next copy came here."""
    async with a_world(tmp_path) as world:
        world.state.may_answer.set()
        world.deliver(7, 0)
        await world.settled()
        message = world.owned()
        newer: list[Slip] = []

        async def meanwhile() -> None:
            newer.append(world.deliver(7, 1))
            await world.settled()

        world.state.before_write = meanwhile
        await world.succeeded(message)
        assert (world.delivered.messages, newer[0].said) == ({}, ["ack"])


async def test_a_delayed_message_that_a_dying_broker_lets_go_twice_is_tried_once(
    tmp_path: Path,
) -> None:
    """It dead-letters the message again, as a new one: neither a later copy nor redelivered."""
    async with a_world(tmp_path) as world:
        world.state.may_answer.set()
        now_ms = world.clock.now_ms()
        times = (now_ms - 400, now_ms, NEVER)
        envelope = Envelope(7, "default", "shop", 0, 0, 0, 0, 0, *times, b"{}")
        world.arrive(envelope, redelivered=False)
        await world.settled()
        await world.succeeded(world.owned())
        again = world.arrive(envelope, redelivered=False)
        await world.settled()
        assert (world.delivered.messages, again.said) == ({}, ["ack"])
        assert (await world.store.counts())["delivered"] == 1


async def test_what_the_state_store_does_not_note_is_not_published_again_and_again(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        world.state.may_answer.set()
        slip = world.deliver(7, 0)
        await world.settled()
        message = world.owned()

        async def down() -> None:
            raise StoreUnavailable("it is away")

        for _ in range(3):
            world.state.before_write = down
            with pytest.raises(StoreUnavailable):
                await world.failed(message)
        assert slip.said == []
        await world.failed(message)
        assert [post.envelope.hop for post in world.copy_publisher.copies] == [1]
        assert (world.delivered.messages, slip.said) == ({}, ["ack"])
        assert (await world.state.known([7]))[7].hop == 0


async def test_what_is_put_back_is_published_once_while_its_note_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was published again every second: a line of copies, as long as the state store is full."""
    monkeypatch.setattr(arrivals, "RETRY_S", 0.001)
    async with a_world(tmp_path) as world:
        world.state.may_answer.set()
        left = 5

        async def down() -> None:
            nonlocal left
            if left:
                left -= 1
                world.state.before_write = down
                raise StoreUnavailable("it is full")

        world.state.before_write = down
        early, now, lost = (
            world.deliver(7, 0, wait_ms=60_000),
            world.deliver(8, 0),
            world.deliver(9, 0, queue="nobody's"),
        )
        await world.settled()
        assert left == 0
        assert [post.envelope.hop for post in world.copy_publisher.copies] == [1, 1]
        assert len({post.envelope.id for post in world.copy_publisher.copies}) == 2
        assert (early.said, now.said, lost.said) == (["ack"], [], ["ack"])
        assert set(world.delivered.messages) == {8}
        assert (await world.state.known([7]))[7].hop == 0


async def test_of_a_record_only_what_was_refused_is_published_again(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.state.may_answer.set()
        slips = [world.deliver(number, 0) for number in (7, 8, 9)]
        await world.settled()
        messages = world.all_owned()
        world.copy_publisher.refusals = {8: 3}
        for _ in range(3):
            with pytest.raises(QueueFull):
                await world.failed(*messages)
        assert world.copy_publisher.ids == [7, 9]
        assert [slip.said for slip in slips] == [[], [], []]
        await world.failed(*messages)
        assert world.copy_publisher.ids == [7, 9, 8]
        assert [slip.said for slip in slips] == [["ack"]] * 3
        assert {known.hop for known in (await world.state.known([7, 8, 9])).values()} == {0}


async def test_of_what_is_put_back_only_what_was_refused_is_published_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "RETRY_S", 0.001)
    async with a_world(tmp_path) as world:
        world.state.may_answer.set()
        world.copy_publisher.refusals = {8: 3}
        slips = [
            world.deliver(7, 0, wait_ms=60_000),
            world.deliver(8, 0, wait_ms=60_000),
            world.deliver(9, 0, queue="nobody's"),
            world.deliver(10, 0),
        ]
        await world.settled()
        assert world.copy_publisher.refusals == {8: 0}
        assert [number for number in world.copy_publisher.ids if number in (7, 8)] == [7, 8]
        assert (
            len(world.copy_publisher.copies) == 3
        )  # the letter of 9 has an id of its own, each time
        assert [slip.said for slip in slips] == [["ack"], ["ack"], ["ack"], []]
        assert set(world.delivered.messages) == {10}
        assert {known.hop for known in (await world.state.known([7, 8])).values()} == {0}


async def test_what_was_put_back_goes_by_its_copy_also_when_it_might_go_by_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its queue was paused, which ends while another's copy is refused."""
    monkeypatch.setattr(arrivals, "RETRY_S", 0.001)
    async with a_world(tmp_path) as world:
        world.state.may_answer.set()
        queue = await world.queue_cache.find(("default", "shop"))
        assert queue is not None
        await world.store.pause_queue(queue.id, paused=True)
        await world.queue_cache.reread(queue.id)
        world.copy_publisher.refusals = {8: 1 << 30}
        slips = [world.deliver(7, 0), world.deliver(8, 0)]
        while world.copy_publisher.ids != [7]:
            await asyncio.sleep(0)
        await world.store.pause_queue(queue.id, paused=False)
        await world.queue_cache.reread(queue.id)
        await world.settled()
        assert world.copy_publisher.ids == [7]
        assert [slip.said for slip in slips] == [["ack"], []]
        assert set(world.delivered.messages) == {8}


async def test_the_outbox_keeps_only_what_was_refused(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await dead_and_replayed(world, 7, 8, 9)
        routes = Routes(Topology())
        log = make_log("error")
        parts = (world.state, world.queue_cache, routes, world.copy_publisher)
        outbox = Outbox(*parts, world.clock, log)
        world.copy_publisher.refusals = {8: 2}
        for _ in range(2):
            with pytest.raises(QueueFull):
                await outbox.empty()
        assert world.copy_publisher.ids == [7, 9]
        assert [one.id for one in await world.state.outbox(10)] == [8]
        assert await outbox.empty() == 1
        assert world.copy_publisher.ids == [7, 9, 8]


async def dead_and_replayed(world: World, *numbers: int) -> None:
    """They live in the state store, and belong into the broker."""
    queue = await world.queue_cache.find(("default", "shop"))
    assert queue is not None
    now_ms = world.clock.now_ms()
    for number in numbers:
        times = (now_ms, now_ms, NEVER)
        letter = Envelope(number, "default", "shop", 0, 1, 0, 0, 0, *times, b"{}")
        letter = replace(letter, reason="exhausted", died_at_ms=now_ms)
        await world.state.store_dead([(letter, queue.id, queue.lanes[0])], now_ms)
    await world.store.dead_replay(DeadFilter(), ReplayMode.reset, count=9, dry_run=False)
