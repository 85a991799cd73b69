"""Gathers figures in memory, and adds them to the store every ten seconds."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from postroad.model.errors import StoreError
from postroad.model.outcome import Kind
from postroad.model.rollup import (
    DEAD,
    KINDS,
    LATE,
    LATE_BUCKETS,
    NAME_MAX,
    OTHER,
    SETUP,
    WIDTH,
    Rollup,
    Step,
)
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.rollups import Rollups

ROWS_MAX: Final = 10_000
UNWRITTEN_MAX: Final = 20_000
"""Rows that wait for a store that is away."""
WRITE: Final = "add figures"
END_S: Final = 2.0
"""How long a stop waits for the last figures to be written."""
Name = tuple[str, str, str]
"""Tenant, family, queue; the queue is empty in a bucket of ten seconds."""
PLACE: Final = {kind: place for place, kind in enumerate(KINDS)}
BUCKET_MS: Final = Step.ten_seconds.ms


class Bucket:
    """Counts of one bucket. The first names have a row each, which most likely are the busiest
    ones; the rest of a tenant is counted together. So a stranger who makes 100,000 queues makes a
    few rows, and takes no place from other tenants."""

    def __init__(self, step: Step, most: int, tenant_most: int, tenants_most: int = 1_000) -> None:
        self._step = step
        self._most, self._tenant_most, self._tenants_most = most, tenant_most, tenants_most
        self._named: Counter[str] = Counter()
        self._others: set[str] = set()
        self._places: set[Name] = set()
        self.at_ms = 0
        self.rows: dict[Name, list[int]] = {}

    def turn(self, at_ms: int) -> None:
        """Begin the next bucket: all places are free again."""
        self.at_ms = at_ms
        self._named.clear()
        self._others.clear()
        self._places.clear()

    def row(self, name: Name) -> list[int]:
        """The counts of a name, or of all that have no place of their own."""
        row = self.rows.get(name)
        if row is None:
            row = self.rows.setdefault(self._place(name), [0] * WIDTH)
        return row

    def _place(self, name: Name) -> Name:
        tenant = name[0]
        if name in self._places:
            return name
        if len(self._places) < self._most and self._named[tenant] < self._tenant_most:
            self._named[tenant] += 1
            self._places.add(name)
            return name
        if tenant not in self._others and len(self._others) >= self._tenants_most:
            tenant = ""
        self._others.add(tenant)
        return tenant, OTHER, OTHER if name[2] else ""

    def seen(self) -> list[Rollup]:
        """All counts since they were last taken."""
        return [Rollup(self._step, self.at_ms, *who, counts) for who, counts in self.rows.items()]

    def taken(self) -> list[Rollup]:
        """Take all counts out; the names keep their places until the bucket ends."""
        rows = self.seen()
        self.rows = {}
        return rows


class FigureGatherer:
    """Counts what this process does. A process that is killed loses its last ten seconds of
    figures, and nothing else."""

    def __init__(self, store: Rollups, clock: Clock, log: Log) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._tens = Bucket(Step.ten_seconds, most=200, tenant_most=50)
        self._hours = Bucket(Step.hour, most=500, tenant_most=100)
        self._rows: dict[Name, tuple[list[int], list[int]]] = {}
        """Where a name is counted, until the counts are taken."""
        self._unwritten: list[Rollup] = []
        self._work = asyncio.Event()
        self._one_write = asyncio.Lock()
        self._write_task: asyncio.Task[bool] | None = None
        self.tries: Counter[Kind] = Counter()
        """Tries of this process so far, by outcome."""

    def turn(self) -> None:
        """Begin the bucket of this moment; every counter calls it first."""
        now_ms = self._clock.now_ms()
        if 0 <= now_ms - self._tens.at_ms < BUCKET_MS:
            self._work.set()
            return
        self._take()
        self._tens.turn(Step.ten_seconds.start_of(now_ms))
        hour_ms = Step.hour.start_of(now_ms)
        if hour_ms != self._hours.at_ms:
            self._hours.turn(hour_ms)
        self._work.set()

    def add(self, name: Name, kind: Kind, late: int = -1, count: int = 1) -> None:
        """Count tries of a queue by outcome. `late`, where they are first tries: the power of two
        that their lateness in ms is below."""
        self.tries[kind] += count
        ten, hour = self._rows.get(name) or self._find(name)
        place = PLACE[kind]
        ten[place] += count
        hour[place] += count
        if late >= 0:
            place = LATE + (late if late < LATE_BUCKETS else LATE_BUCKETS - 1)
            ten[place] += count
            hour[place] += count

    def add_setup(self, name: Name, count: int) -> None:
        """Count tries of a queue, counted as `quota` so far, as not made: something is missing on
        our side."""
        for row in self._rows.get(name) or self._find(name):
            row[PLACE[Kind.quota]] -= count
            row[SETUP] += count

    def add_dead(self, name: Name, count: int) -> None:
        """Count messages of a queue that died."""
        for row in self._rows.get(name) or self._find(name):
            row[DEAD] += count

    def _find(self, name: Name) -> tuple[list[int], list[int]]:
        tenant, family, queue = name
        if len(family) > NAME_MAX or len(queue) > NAME_MAX:
            family, queue = family[:NAME_MAX], queue[:NAME_MAX]
        rows = self._tens.row((tenant, family, "")), self._hours.row((tenant, family, queue))
        if len(self._rows) < ROWS_MAX:
            self._rows[name] = rows
        return rows

    def unwritten(self) -> Sequence[Rollup]:
        """What the store does not have yet."""
        return [*self._unwritten, *self._tens.seen(), *self._hours.seen()]

    def _take(self) -> None:
        self._rows.clear()
        self._unwritten += self._tens.taken() + self._hours.taken()
        if len(self._unwritten) > UNWRITTEN_MAX:
            lost = len(self._unwritten) - UNWRITTEN_MAX
            del self._unwritten[:lost]
            self._log.warning("dropped figures: the store was away too long", rows=lost)

    async def run(self) -> None:
        """Write figures when a bucket has ended; without figures nothing is written."""
        while True:
            await self._work.wait()
            self._work.clear()
            rest_ms = self._tens.at_ms + BUCKET_MS - self._clock.now_ms()
            await self._clock.sleep(max(1, min(rest_ms, BUCKET_MS)) / 1000)
            self._take()
            if not await self._written():
                await self._clock.sleep(BUCKET_MS / 1000)
                self._work.set()

    async def end(self) -> None:
        """Write what there is now, within two seconds: before the road stops."""
        self._take()
        try:
            async with asyncio.timeout(END_S):
                _ = await self._written()  # it says why not
        except TimeoutError:
            self._log.warning("the last figures could not be written in time")

    async def _written(self) -> bool:
        """Write what waits. A caller that is cut does not cut the write, and the next caller waits
        for it: what may be in the store is not written again."""
        self._write_task = asyncio.ensure_future(self._write())
        return await asyncio.shield(self._write_task)

    async def _write(self) -> bool:
        async with self._one_write:
            rows, self._unwritten = merged(self._unwritten), []
            if not rows:
                return True
            try:
                await self._store.add_rollups(rows)
            except StoreError as error:
                self._unwritten[:0] = rows
                self._log.store_failed(WRITE, error)
                return False
            self._log.store_works(WRITE)
            return True


def merged(rows: Iterable[Rollup]) -> list[Rollup]:
    """Add up rows of one bucket and name: an hour is taken in many parts, and several of them wait
    when the store was away. PostgreSQL refuses a row that is there twice."""
    found: dict[tuple[Step, int, str, str, str], Rollup] = {}
    for row in rows:
        key = (row.step, row.at_ms, row.tenant, row.family, row.queue)
        before = found.get(key)
        if before is not None:
            counts = [one + two for one, two in zip(before.counts, row.counts, strict=True)]
            found[key] = replace(before, counts=counts)
        else:
            found[key] = row
    return list(found.values())
