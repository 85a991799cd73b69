"""Batches on the road that a test of a program uses: it delivers when told to, in simulated time."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from postroad import Message
from postroad.testing.rehearsal import Rehearsal


@pytest.fixture
def road(tmp_path: Path) -> Iterator[Rehearsal]:
    with Rehearsal(tmp_path / "road.db") as rehearsal:
        yield rehearsal


@pytest.mark.parametrize("ran", [False, True])
def test_a_batch_is_waited_for_and_cancelled_in_no_time(road: Rehearsal, *, ran: bool) -> None:
    """Also before anything has run; and nothing else than the wait lets its members be delivered."""
    seen: list[object] = []

    @road.handler("work", timeout=7200)
    async def work(message: Message[int]) -> None:
        await asyncio.sleep(3600)
        seen.append(message.body)

    if ran:
        assert road.deliver_all() == 0
    cancelled = road.batch([("work", 1), ("work", 2)], then=("work", 3))
    batch = road.chain([("work", 4), ("work", 5)])
    assert [road.batches.get(each.id).delivered for each in (cancelled, batch)] == [0, 0]
    assert road.batches.cancel(cancelled.id).cancelled == 2
    assert seen == []
    began = road.now
    assert road.batches.wait(batch.id).delivered == 1  # the last step
    assert (seen, road.now - began) == ([4, 5], timedelta(hours=2))
    running = road.batch([("work", 6)])
    road.advance(60)
    stopped = road.batches.cancel(running.id, running=True)
    assert (stopped.state, stopped.cancelled, seen) == ("ended", 1, [4, 5])
