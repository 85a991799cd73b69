"""Parking: what is on its way back to the broker is not tried from memory."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from postroad.model.errors import QueueFull, StoreUnavailable
from postroad.model.record import Want
from postroad.stores.rabbitmq.delays.parking import Parking
from postroad.stores.rabbitmq.publishing.republisher import Republisher
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome, RoutedCopy, Routes
from postroad.stores.rabbitmq.topology.topology import Topology
from tests.rabbitmq.test_arriving import Posted, World, a_world
from tests.rabbitmq.test_table import Slip


def parking_of(world: World) -> Parking:
    """No try is under way."""
    shifter = Republisher(world.copy_publisher, world.state, world.delivered)
    return Parking(world.delivered, Routes(Topology()), shifter, world.clock, lambda *_: False)


async def arrived_and_paused(world: World, *numbers: int) -> list[Slip]:
    """They are in memory when their queue is paused."""
    world.state.may_answer.set()
    slips = [world.deliver(number, 0) for number in numbers]
    await world.settled()
    await pause(world, paused=True)
    return slips


async def pause(world: World, *, paused: bool) -> None:
    queue = await world.queue_cache.find(("default", "shop"))
    assert queue is not None
    await world.store.pause_queue(queue.id, paused=paused)
    await world.queue_cache.reread(queue.id)


def readable(world: World) -> list[int]:
    """What an owner reads of the one lane."""
    (spot,) = world.delivered.memory_lanes.values()
    wants = [Want(stack.row.id, -1, -1, 9) for stack in spot.rungs.values()]
    readings = [world.delivered.fetch(want, world.clock.now_ms()) for want in wants]
    return [message.id for reading in readings for message in reading.messages]


async def test_what_is_parked_is_not_tried_when_another_was_refused_and_the_queue_goes_on(
    tmp_path: Path,
) -> None:
    """Its try would have ended here, and its copy would have been tried once more."""
    async with a_world(tmp_path) as world:
        slips = await arrived_and_paused(world, 7, 8)
        parking = parking_of(world)
        world.copy_publisher.refusals = {8: 1}
        with pytest.raises(QueueFull):
            await parking.park()
        assert world.copy_publisher.ids == [7]
        await pause(world, paused=False)
        assert [message.id for message in world.all_owned()] == [8]
        assert await parking.park() == 1  # it is noted, though its queue may go
        assert world.copy_publisher.ids == [7]
        assert [slip.said for slip in slips] == [["ack"], []]
        assert set(world.delivered.messages) == {8}
        assert (await world.state.known([7]))[7].hop == 0


async def test_what_is_parked_and_could_not_be_noted_is_not_tried(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        (slip,) = await arrived_and_paused(world, 7)
        parking = parking_of(world)

        async def down() -> None:
            raise StoreUnavailable("it is away")

        world.state.before_write = down
        with pytest.raises(StoreUnavailable):
            await parking.park()
        await pause(world, paused=False)
        now_ms = world.clock.now_ms()
        assert world.delivered.claim(1, range(7), ["web"], 10, (), now_ms).lanes == []
        assert readable(world) == []
        assert await parking.park() == 1
        assert (world.copy_publisher.ids, slip.said, world.delivered.messages) == ([7], ["ack"], {})


class Slow(Posted):
    """Says what became of posts when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def publish(self, posts: Sequence[RoutedCopy]) -> list[PublishOutcome]:
        self.asked.set()
        await self.may_answer.wait()
        return await super().publish(posts)


async def test_what_is_being_parked_is_not_tried_and_what_was_refused_is(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        slips = await arrived_and_paused(world, 7, 8)
        world.copy_publisher = slow = Slow()
        slow.refusals = {8: 1}
        parked = asyncio.create_task(parking_of(world).park())
        await slow.asked.wait()
        await pause(world, paused=False)
        assert readable(world) == []
        slow.may_answer.set()
        with pytest.raises(QueueFull):
            await parked
        assert readable(world) == [8]
        assert [slip.said for slip in slips] == [[], []]
