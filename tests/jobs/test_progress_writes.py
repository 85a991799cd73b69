"""How often the progress of jobs is written, by the clock of a simulation."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from postroad import Message
from postroad.errors import StoreUnavailable
from postroad.model.job_output import JobOutput
from postroad.stores.sqlite.store import SqliteStore
from postroad.testing.rehearsal import Rehearsal


@pytest.fixture
def road(tmp_path: Path) -> Iterator[Rehearsal]:
    with Rehearsal(tmp_path / "road.db") as rehearsal:
        yield rehearsal


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When reports are written; the first one fails."""
    times: list[float] = []
    put = SqliteStore.put_outputs

    async def counted(self: SqliteStore, outputs: Sequence[JobOutput]) -> None:
        times.append(self.clock.steady_s())
        if len(times) == 1:
            raise StoreUnavailable("away for a moment")
        await put(self, outputs)

    monkeypatch.setattr(SqliteStore, "put_outputs", counted)
    return times


def test_a_job_that_reports_all_the_time_is_written_once_a_second(
    road: Rehearsal, writes: list[float]
) -> None:
    @road.handler("eager", timeout=60)
    async def eager(message: Message) -> None:
        for done in range(1_000):
            message.progress(done, 1_000)
            await asyncio.sleep(0.01)

    road.send("eager", 1)
    road.advance(12)
    assert 10 <= len(writes) <= 11
    assert min(b - a for a, b in pairwise(writes)) >= 1.0


def test_a_report_that_meets_a_store_that_is_away_is_written_later(
    road: Rehearsal, writes: list[float]
) -> None:
    @road.handler("slow", timeout=60)
    async def slow(message: Message) -> None:
        message.progress(1, 2, "halfway")
        await asyncio.sleep(30)

    sent = road.send("slow", 1)
    road.advance(5)
    come = road.jobs.wait(sent.id, timeout=0).progress
    assert come is not None
    assert (come.done, come.note, len(writes)) == (1, "halfway", 2)
