"""Mended: what concurrent senders do to each other, and a road that could not open."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from postroad import Postroad, Receipt, Send
from postroad.engine.attempt_effects import AttemptTimes
from postroad.engine.lane_worker import LaneWorker
from postroad.model.circuit import CLOSED
from postroad.model.entities import (
    Accepted,
    Draft,
    Lane,
    LaneKey,
    Message,
    Policy,
    Queue,
    Rung,
)
from postroad.model.errors import BadInput, Conflict, StoreUnavailable
from postroad.model.limits import Limits
from postroad.model.outcome import DELIVERED, unreachable
from postroad.model.record import Reading, View
from postroad.model.states import NEVER
from postroad.transports.job import Job
from postroad.verbs.sending import SendOptions

Within = Callable[..., object]


def work(road: Postroad) -> None:
    """A recipient that takes everything."""

    @road.handler("work")
    async def handle(_job: Job) -> None:
        """Nothing to do."""


BAD_OPTIONS: list[SendOptions] = [
    {"key": "\ud800"},
    {"order_key": "\ud800"},
    {"delay": float("inf")},
    {"delay": float("nan")},
]


@pytest.mark.parametrize("bad", BAD_OPTIONS, ids=str)
def test_what_cannot_be_stored_is_refused_and_its_neighbours_are_stored(
    road: Postroad, within: Within, bad: SendOptions
) -> None:
    """Senders that come together are stored together, but do not suffer for each other."""
    work(road)

    async def story() -> None:
        async with road:
            answers = await asyncio.gather(
                road.send("work", 1),
                road.send("work", 2, **bad),
                road.send("work", 3),
                return_exceptions=True,
            )
            assert all(isinstance(answers[at], Receipt) for at in (0, 2))
            assert isinstance(answers[1], BadInput)
            assert (await road.store.counts())["waiting"] == 2

    within(story())


def test_one_that_the_store_chokes_on_does_not_take_its_neighbours_along(
    road: Postroad, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever drafting did not think of."""
    work(road)
    real = road.store.accept

    async def chokes(drafts: Sequence[Draft]) -> list[Accepted]:
        if any(draft.body == b"2" for draft in drafts):
            raise OverflowError("simulated: no column holds this")
        return await real(drafts)

    async def story() -> None:
        async with road:
            monkeypatch.setattr(road.store, "accept", chokes)
            sends = [road.send("work", n) for n in (1, 2, 3)]
            answers = await asyncio.gather(*sends, return_exceptions=True)
            assert isinstance(answers[1], OverflowError)
            assert all(isinstance(answers[at], Receipt) for at in (0, 2))

    within(story())


def test_a_conflict_names_those_that_are_stored(road: Postroad, within: Within) -> None:
    """One key of many was used before: whoever sends the rest again has doubled it."""
    work(road)

    async def story() -> None:
        async with road:
            first = await road.send("work", 1, key="k")
            with pytest.raises(Conflict) as caught:
                await road.send_many([Send("work", 2), Send("work", 3, key="k"), Send("work", 4)])
            assert len(caught.value.stored) == 2
            assert first.id not in caught.value.stored
            counts = await road.store.counts()
            assert counts["waiting"] == 3

    within(story())


def test_a_road_that_could_not_join_leaves_its_file_to_others(
    tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same process, or another one, may open it."""
    dsn = f"sqlite:///{tmp_path}/road.db"

    async def fails() -> int:
        raise StoreUnavailable("simulated: the store was away")

    async def story() -> None:
        broken = Postroad(dsn)
        monkeypatch.setattr(broken.store, "join", fails)
        with pytest.raises(StoreUnavailable):
            await broken.__aenter__()
        async with Postroad(dsn) as other:
            assert (await other.store.counts())["waiting"] == 0

    within(story())


def test_an_old_look_does_not_close_a_circuit_that_opened_since() -> None:
    """It was answered before the record that says so was written, and came after it."""
    now_ms = 1_000_000
    worker = LaneWorker.of(Lane(1, LaneKey("sim", "ash"), 1), Limits())
    queue = Queue(1, "default", "sim://ash/a", Policy(), (1,))
    rung = Rung(1, 1, 1, 0, ready_at_ms=0)
    old = View(1, [rung], [queue], NEVER, CLOSED, paused=False)
    assert worker.look(now_ms)
    worker.learn(old)
    worker.wants(now_ms)
    messages = [Message(n, 1, 1, 1, 0, 0, 0, 0, 0, 0, NEVER, b"") for n in (1, 2, 3)]
    worker.read(Reading(1, messages, NEVER, full=False))
    for _ in messages:
        assert worker.next(now_ms, lambda _level: True)
    worker.cache.ring(0, 0, now_ms)
    assert worker.look(now_ms)
    away = unreachable("refused")
    for effects in [worker.done(m, away, AttemptTimes(now_ms, 1), now_ms, 0.5) for m in messages]:
        worker.recorded(effects)
    assert worker.circuit.is_open
    worker.learn(old)
    assert worker.circuit.is_open


def test_a_queue_with_a_full_window_is_noted_once() -> None:
    """With a backlog it was noted again with every message: the next one took longer and longer."""
    now_ms = 1_000_000
    limits = Limits(window=2)
    worker = LaneWorker.of(Lane(1, LaneKey("sim", "ash"), 1), limits)
    queue = Queue(1, "default", "sim://ash/a", Policy(), (1,))
    rung = Rung(1, 1, 1, 0, ready_at_ms=0)
    assert worker.look(now_ms)
    worker.learn(View(1, [rung], [queue], NEVER, CLOSED, paused=False))
    worker.wants(now_ms)
    messages = [Message(n, 1, 1, 1, 0, 0, 0, 0, 0, 0, NEVER, b"") for n in range(1, 101)]
    worker.read(Reading(1, messages, NEVER, full=False))
    flying: list[Message] = []
    for _ in messages:
        while message := worker.next(now_ms, lambda _level: True):
            flying.append(message)
        assert len(worker.schedule._above_share) <= 1
        worker.done(flying.pop(0), DELIVERED, AttemptTimes(now_ms, 1), now_ms, 0.5)
    assert not flying
