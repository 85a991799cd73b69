"""Figures in buckets, and who works."""

import asyncio
import os
import socket
from collections.abc import Sequence

from msgspec.structs import replace

from postroad.model.errors import StoreUnavailable
from postroad.model.outcome import Kind
from postroad.model.privacy import Subject
from postroad.model.rollup import (
    DEAD,
    KINDS,
    LATE,
    TRIES,
    WIDTH,
    GroupBy,
    Point,
    Rollup,
    Span,
    Step,
    WorkerState,
)
from postroad.observe.figures import FigureGatherer
from postroad.observe.log import make_log
from postroad.ports.store import Store
from postroad.version import VERSION
from tests.contract.bench import Bench
from tests.contract.test_erasing import erase

TENS, HOURS = Step.ten_seconds, Step.hour


def counts(delivered: int = 0, failed: int = 0, dead: int = 0, late: int = 0) -> Sequence[int]:
    """`delivered` tries, each as late as the bucket says, and others."""
    row = [0] * WIDTH
    row[KINDS.index(Kind.delivered)] = row[LATE + late] = delivered
    row[KINDS.index(Kind.failed)], row[DEAD] = failed, dead
    return row


async def read(bench: Bench, by: GroupBy, step: Step = TENS, names: int = 9) -> list[Point]:
    span = Span(step, bench.at(-1e6), bench.at(1e6), by, None, names)
    return await bench.store.rollups(span)


async def test_what_is_added_to_a_bucket_is_summed_up(bench: Bench) -> None:
    at = TENS.start_of(bench.now_ms)
    a, b = Rollup(TENS, at, "t", "handler:a", "", counts(3, late=2)), counts(1, 2, 1)
    await bench.store.add_rollups([a, Rollup(TENS, at, "u", "handler:b", "", b)])
    await bench.store.add_rollups([a, replace(a, at_ms=at + 10_000)])
    first, second = await read(bench, GroupBy.outcome)
    assert (first.at_ms, first.name, second.at_ms) == (at, "", at + 10_000)
    assert first.tries == {"delivered": 7, "failed": 2}
    assert (first.dead, sum(first.late), first.late[2], first.late[0]) == (1, 7, 6, 1)
    assert (second.tries, second.late_p50_ms) == ({"delivered": 3}, 3)
    named = await read(bench, GroupBy.family)
    assert [(one.at_ms - at, one.name, one.tries["delivered"]) for one in named] == [
        (0, "handler:a", 6),
        (0, "handler:b", 1),
        (10_000, "handler:a", 3),
    ]
    owned = await bench.store.rollups(
        Span(TENS, at, at + 10_000, GroupBy.tenant, tenant="u", names=9)
    )
    assert [(one.name, one.tries) for one in owned] == [("u", {"delivered": 1, "failed": 2})]


async def test_every_count_is_kept_and_shown_by_its_name(bench: Bench) -> None:
    at, row = TENS.start_of(bench.now_ms), list(range(1, WIDTH + 1))
    await bench.store.add_rollups([Rollup(TENS, at, "t", "f", "", row)])
    await bench.store.add_rollups([Rollup(TENS, at, "t", "f", "", row)])
    for by in (GroupBy.outcome, GroupBy.family):
        (seen,) = await read(bench, by)
        twice = [2 * each for each in row]
        assert [seen.tries[name] for name in TRIES] == twice[:DEAD]
        assert (seen.dead, list(seen.late)) == (twice[DEAD], twice[LATE:])


async def test_of_many_names_the_busiest_are_told_and_the_rest_is_one(bench: Bench) -> None:
    at = HOURS.start_of(bench.now_ms)
    rows = [Rollup(HOURS, at, "t", "f", f"q{n}", counts(n)) for n in range(1, 31)]
    await bench.store.add_rollups(rows)
    found = await read(bench, GroupBy.queue, HOURS, names=2)
    assert {one.name: one.tries["delivered"] for one in found} == {
        "q30": 30,
        "q29": 29,
        "other": sum(range(1, 29)),
    }


async def test_old_buckets_are_deleted(bench: Bench) -> None:
    for step in Step:
        at = step.start_of(bench.now_ms)
        await bench.store.add_rollups([Rollup(step, at, "t", "f", "q", counts(1))])
    await bench.advance(2 * 3_600 - 60)
    await _retained(bench)
    assert len(await bench.rows("select 1 from rollup")) == 2
    await bench.advance(120)
    await _retained(bench)
    assert await bench.rows("select step from rollup") == [(3_600,)]
    await bench.advance(35 * 86_400)
    await _retained(bench)
    assert await bench.rows("select 1 from rollup") == []


async def _retained(bench: Bench) -> None:
    while await bench.store.retain(7 * 86_400_000, 7 * 86_400_000):
        pass


async def test_a_worker_is_listed_with_its_lanes_until_it_leaves(bench: Bench) -> None:
    await bench.send(await bench.queue())
    assert await bench.store.workers() == []  # it has not asked for lanes
    bench.listen()
    await bench.take()
    assert await bench.store.beat(bench.owner)
    (worker,) = await bench.store.workers()
    assert (worker.process, worker.host, worker.pid) == (
        bench.owner,
        socket.gethostname(),
        os.getpid(),
    )
    assert (worker.version, worker.state, worker.lanes) == (VERSION, WorkerState.working, 1)
    assert worker.started_at_ms <= worker.heard_at_ms <= bench.now_ms
    await bench.store.leave(bench.owner)
    assert await bench.store.workers() == []


async def test_the_figures_of_a_tenant_are_erased_with_it(bench: Bench) -> None:
    at = HOURS.start_of(bench.now_ms)
    for tenant in ("a", "b"):
        rows = [Rollup(HOURS, at, tenant, "f", queue, counts(1)) for queue in ("q", "r")]
        await bench.store.add_rollups(rows)
    assert (await erase(bench, Subject("a", "q"))).erased == {"rollup": 1}
    assert (await erase(bench, Subject("b"))).erased == {"rollup": 2}
    assert await bench.rows("select tenant, queue from rollup") == [("a", "r")]


class Gate:
    """A store that can be out of reach."""

    def __init__(self, store: Store) -> None:
        self._store, self.shut = store, False
        self.rollups, self.workers = store.rollups, store.workers

    async def add_rollups(self, rows: Sequence[Rollup]) -> None:
        if self.shut:
            raise StoreUnavailable("away")
        await self._store.add_rollups(rows)


async def test_figures_that_waited_for_the_store_are_written_with_the_next(bench: Bench) -> None:
    gate = Gate(bench.store)
    figures = FigureGatherer(gate, bench.store.clock, make_log("critical"))

    async def tried(times: int) -> None:
        figures.turn()
        for _ in range(times):
            figures.add(("t", "handler:a", "q"), Kind.delivered)
        await figures.end()

    gate.shut = True
    await tried(2)
    gate.shut = False
    await tried(3)
    assert not figures.unwritten()
    hours = await read(bench, GroupBy.queue, HOURS)
    assert sum(point.tries["delivered"] for point in hours) == 5


class Slow:
    """A store that answers, after it has written, when it is told to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.has_written, self.may_answer = asyncio.Event(), asyncio.Event()
        self.rollups, self.workers = store.rollups, store.workers

    async def add_rollups(self, rows: Sequence[Rollup]) -> None:
        await self._store.add_rollups(rows)
        self.has_written.set()
        await self.may_answer.wait()


async def test_figures_are_counted_once_though_their_write_was_cut_or_has_company(
    bench: Bench,
) -> None:
    slow = Slow(bench.store)
    figures = FigureGatherer(slow, bench.store.clock, make_log("critical"))
    figures.turn()
    figures.add(("t", "handler:a", "q"), Kind.delivered, count=2)
    cut = asyncio.ensure_future(figures.end())
    await slow.has_written.wait()
    cut.cancel()
    _ = await asyncio.gather(cut, return_exceptions=True)
    ends = [asyncio.ensure_future(figures.end()) for _ in range(2)]
    await asyncio.sleep(0)
    slow.may_answer.set()
    await asyncio.gather(*ends)
    assert not figures.unwritten()
    hours = await read(bench, GroupBy.queue, HOURS)
    assert sum(point.tries["delivered"] for point in hours) == 2
