"""The table: what was delivered here, as lanes and rungs, without a broker."""

from msgspec.structs import replace

from postroad.model.block import Block, BlockKind
from postroad.model.circuit import Circuit
from postroad.model.entities import Lane, LaneKey, Policy, Queue
from postroad.model.record import Look, Want
from postroad.model.states import NEVER
from postroad.stores.bell import Ring
from postroad.stores.rabbitmq.consuming.arrivals import message_of
from postroad.stores.rabbitmq.consuming.delivery import AckHandle, DeliveredMessage
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.envelope import Envelope

NOW_MS = 10_000
LINE = "shard.3"
LEVELS = range(7)


class Slip(AckHandle):
    """An ack handle that remembers what became of it."""

    alive = True

    def __init__(self) -> None:
        self.said: list[str] = []

    def ack(self) -> None:
        self.said.append("ack")

    def nack(self) -> None:
        self.said.append("nack")


class World:
    """One queue on one lane of an open line."""

    def __init__(self) -> None:
        self.rings: list[Ring] = []
        self.delivered = DeliveredMessages(self.rings.extend)
        self.queue = Queue(1, "default", "shop", Policy(), (5,))
        self.lane = Lane(5, LaneKey("web", "shop"), 0)
        self.delivered.update_queue(self.queue)
        self.delivered.update_lane(self.lane)
        self.delivered.open(LINE)

    def put(
        self, number: int, *, due_ms: int = NOW_MS, level: int = 0, priority: int = 0
    ) -> DeliveredMessage:
        envelope = Envelope(
            id=number,
            tenant="default",
            queue="shop",
            shard=0,
            hop=0,
            level=level,
            attempts=0,
            priority=priority,
            accepted_at_ms=NOW_MS,
            due_ms=due_ms,
            expires_at_ms=NEVER,
            body=b"{}",
        )
        entry = DeliveredMessage(envelope, message_of(envelope, self.queue, 0), Slip(), LINE)
        self.delivered.put([entry])
        return entry

    def claim(self, owner: int = 1, now_ms: int = NOW_MS) -> list[Lane]:
        return self.delivered.claim(owner, LEVELS, ["web"], 10, (), now_ms).lanes

    def due(self, now_ms: int = NOW_MS) -> list[int]:
        view = self.delivered.look(Look(5, -1), now_ms)
        readings = [self.delivered.fetch(Want(r.id, -1, -1, 100), now_ms) for r in view.rungs]
        return [message.id for reading in readings for message in reading.messages]


def test_a_lane_is_owned_by_one_at_a_higher_epoch_each_time() -> None:
    world = World()
    world.put(1)
    (first,) = world.claim()
    assert world.claim(owner=2) == []
    world.delivered.free(5)
    (second,) = world.claim(owner=2)
    assert second.epoch > first.epoch
    assert not world.delivered.owns(1, 5, first.epoch)
    assert world.delivered.owns(2, 5, second.epoch)


def test_messages_are_read_by_due_time_and_a_cursor() -> None:
    world = World()
    for number, due_ms in ((3, NOW_MS), (1, NOW_MS - 5), (2, NOW_MS), (4, NOW_MS + 9)):
        world.put(number, due_ms=due_ms)
    world.claim()
    (rung,) = world.delivered.look(Look(5, -1), NOW_MS).rungs
    first = world.delivered.fetch(Want(rung.id, -1, -1, 2), NOW_MS)
    assert ([m.id for m in first.messages], first.full) == ([1, 2], True)
    last = first.messages[-1]
    rest = world.delivered.fetch(Want(rung.id, last.place, last.id, 2), NOW_MS)
    assert ([m.id for m in rest.messages], rest.next_due_ms) == ([3], NOW_MS + 9)


def test_levels_and_priorities_are_rungs_of_their_own() -> None:
    world = World()
    world.put(1)
    world.put(2, level=3)
    world.put(3, priority=5)
    world.claim()
    rungs = world.delivered.look(Look(5, -1), NOW_MS).rungs
    assert {(rung.level, rung.priority) for rung in rungs} == {(0, 0), (3, 0), (0, 5)}


def test_who_concerns_a_new_message_is_told() -> None:
    world = World()
    world.put(1)
    assert world.rings[-1].owner is None
    world.claim(owner=7)
    world.put(2)
    (*_, told) = world.rings
    assert (told.owner, told.lane) == (7, 5)


def test_a_blocked_queue_and_an_open_circuit_hide_their_messages_until_their_time() -> None:
    world = World()
    world.put(1)
    block = Block(BlockKind.quota, NOW_MS + 50, "no more", 1, NOW_MS)
    world.delivered.update_queue(replace(world.queue, block=block))
    assert world.claim() == []
    assert len(world.claim(now_ms=NOW_MS + 50)) == 1
    assert world.due() == []
    assert world.due(NOW_MS + 50) == [1]
    world.delivered.free(5)
    world.delivered.update_queue(world.queue)
    away = Circuit(3, 1, NOW_MS + 90, NOW_MS, "away")
    world.delivered.update_lane(replace(world.lane, circuit=away))
    assert world.claim(now_ms=NOW_MS + 89) == []
    assert len(world.claim(now_ms=NOW_MS + 90)) == 1


def test_lanes_of_a_closed_line_look_paused_and_go_on_when_it_is_open_again() -> None:
    world = World()
    world.put(1)
    world.claim()
    world.delivered.close(LINE)
    assert world.delivered.look(Look(5, -1), NOW_MS).paused
    assert not world.delivered.has_no_owner(LINE)
    world.delivered.free(5)
    assert world.delivered.has_no_owner(LINE)
    assert world.claim() == []
    world.delivered.open(LINE)
    assert len(world.claim()) == 1


def test_a_lost_line_takes_its_messages_and_its_worker_hears_of_it() -> None:
    world = World()
    entry = world.put(1)
    world.claim()
    world.rings.clear()
    assert world.delivered.drop_source(LINE) == [entry]
    assert world.rings[0].owner == 1
    view = world.delivered.look(Look(5, -1), NOW_MS)
    assert (view.rungs, view.paused) == ([], True)
    assert world.delivered.messages == {}


def test_an_empty_lane_that_nobody_owns_is_forgotten_but_not_how_it_stands() -> None:
    world = World()
    world.put(1)
    world.claim()
    world.delivered.drop(1)
    assert 5 in world.delivered.memory_lanes
    world.delivered.free(5)
    assert world.delivered.memory_lanes == {}
    assert world.delivered.lanes[5] == world.lane
