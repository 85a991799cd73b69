"""What comes with a claim, and what is to come after it."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from typing import Any

from postroad import Postroad, Send
from postroad.config import Settings
from postroad.model.entities import Message, Queue
from postroad.model.ids import to_number
from postroad.model.outcome import Outcome
from postroad.model.record import Claim
from postroad.transports.handler import Job
from tests.fleet.loads import Doors, door, road_of
from tests.fleet.states import ask

Within = Callable[[Coroutine[Any, Any, Any]], Any]
LEFT_BEHIND: ContextVar[str] = ContextVar("left_behind", default="nothing")


class Slow(Doors):
    """The first one is answered when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[int] = []
        self.second, self.answer = asyncio.Event(), asyncio.Event()

    async def send(self, queue: Queue, message: Message, /) -> Outcome:
        """Waits, if it is the first."""
        self.begun.append(message.id)
        if len(self.begun) == 1:
            await self.answer.wait()
        else:
            self.second.set()
        return await super().send(queue, message)


def test_what_is_due_later_does_not_wait_for_an_answer_to_what_came_first(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        doors = Slow()
        async with road_of(dsn, doors) as road:
            await road.send_many([Send(door(1), 1), Send(door(1), 2, delay=2)])
            running = asyncio.create_task(road.run())
            async with asyncio.timeout(20):  # after 30 s the first try is cut
                await doors.second.wait()
            doors.answer.set()
            road.stop()
            await running

    within(story())


def test_of_two_that_are_not_due_the_first_one_counts(dsn: str, within: Within) -> None:
    """A lane that was freed without a look at its rungs is claimed with a head that is not due."""

    async def story() -> tuple[int, int]:
        doors = Doors()
        async with road_of(dsn, doors) as road:
            claim = road.store.claim
            said: asyncio.Queue[int] = asyncio.Queue()

            async def watched(
                owner: int,
                levels: Sequence[int],
                pools: Sequence[str],
                limit: int,
                without: Sequence[str] = (),
            ) -> Claim:
                claimed = await claim(owner, levels, pools, limit, without)
                for reading in claimed.readings.values():
                    said.put_nowait(reading.next_due_ms)
                return claimed

            sends = [Send(door(1), n, delay=delay) for n, delay in enumerate((0, 60, 3_600))]
            receipts = await road.send_many(sends)
            road.store.claim = watched  # type: ignore[method-assign]
            running = asyncio.create_task(road.run())
            async with asyncio.timeout(60):
                await said.get()
                await doors.answered(1)
                assert road.engine is not None
                await road.engine.recorder.settled()
                await road.store.disown(road.engine.owner, [])
                said_ms = await said.get()
            road.stop()
            await running
        return said_ms, to_number(receipts[1].id)

    said_ms, second = within(story())
    due = f"select due from postroad.message where id = {second}"
    assert [(said_ms,)] == [tuple(row) for row in ask(dsn, due)]


def test_what_a_handler_leaves_in_its_context_is_not_seen_in_other_lanes(
    dsn: str, within: Within
) -> None:
    async def story() -> list[str]:
        seen: list[str] = []

        async def take(message: Job) -> None:
            seen.append(LEFT_BEHIND.get())
            LEFT_BEHIND.set(f"something of {message.body}")

        road = Postroad(dsn, settings=Settings(log_level="warning"))
        names = [f"handler-{n}" for n in range(4)]
        for name in names:
            road.handler(name)(take)
        async with road:
            await road.send_many([(name, n) for n, name in enumerate(names)])
            await road.run(until_idle=True)
        return seen

    assert within(story()) == ["nothing"] * 4
