"""Recorder: writes outcomes to the store in batches, each in one transaction."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

from postroad.engine.attempt_effects import AttemptEffects
from postroad.engine.engine_log import EngineLog, has_news
from postroad.engine.lane_worker import LaneWorker
from postroad.model.block import BlockKind
from postroad.model.decide import Move
from postroad.model.endpoint import QUEUE_PREFIX
from postroad.model.errors import StoreError, is_about_store
from postroad.model.foreign import error_text
from postroad.model.ids import to_text
from postroad.model.limits import Limits
from postroad.model.outcome import Kind
from postroad.model.record import LaneChange, Record, split_up, without_texts
from postroad.observe.endpoint_figures import EndpointFigures
from postroad.observe.figures import FigureGatherer, Name
from postroad.ports.store import Store

RETRY_S = 1.0
RECORD = "record results"
LATER, UNSTARTED = -1, 40
"""In place of a lateness (the power of two above it, in ms): a later try; and no try at all: its
start, 0, is more than 2^40 ms before it was due."""
NAMES_MAX = 10_000
GATHER_S, GATHER = 0.004, 16
"""While results come one by one, a batch begins no sooner than so long after the last one, unless
so many wait: a commit for each took half of what the engine did for a message (decision 144)."""


class Recorder:
    """Writes the effects of tries; while one batch is written the next one gathers."""

    def __init__(
        self,
        store: Store,
        owner: int,
        limits: Limits,
        events: EngineLog,
        figures: FigureGatherer,
        after: Callable[[Iterable[LaneWorker]], None],
        lost: Callable[[LaneWorker], None],
    ) -> None:
        self._store = store
        self._owner = owner
        self._limits = limits
        self._log = events.log
        self._events = events
        self._figures = figures
        self.endpoints = EndpointFigures()
        self._names: dict[int, Name] = {}
        self._after = after
        self._lost = lost
        self._waiting: list[tuple[LaneWorker, AttemptEffects]] = []
        self._changes: list[LaneChange] = []
        self._work = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._begun_s = 0.0
        """When the last batch began."""
        self._gathers = False
        self._gathered = asyncio.Event()
        self.unrecorded = 0

    def put(self, lane: LaneWorker, effects: AttemptEffects) -> None:
        """Take over the effects of a try that has ended."""
        if not self._waiting:
            self._empty.clear()
            self._work.set()
        self._waiting.append((lane, effects))
        self.unrecorded += 1
        if self._gathers and (effects.result.order_group or len(self._waiting) >= GATHER):
            self._gathered.set()

    async def settled(self) -> None:
        """Wait until all that was handed over is written."""
        await self._empty.wait()

    async def run(self) -> None:
        """Write batches, for as long as the engine lives."""
        while True:
            await self._work.wait()
            if not self._waiting:
                self._work.clear()
                self._empty.set()
                continue
            await self._gather()
            await self._write(self._next())

    async def _gather(self) -> None:
        """Let the first of many results wait for those that come right after it. One whose lane has
        nothing else in flight waits for nothing, and none does whose order group waits for it."""
        clock, waiting = self._store.clock, self._waiting
        wait_s = self._begun_s + GATHER_S - clock.steady_s()
        comes_more = waiting[-1][0].in_flight and len(waiting) < GATHER
        if wait_s > 0 and comes_more and not any(one.result.order_group for _, one in waiting):
            self._gathers = True
            self._gathered.clear()
            timer = clock.later(max(1, round(wait_s * 1000)), self._gathered.set)
            await self._gathered.wait()
            timer.cancel()
            self._gathers = False
        self._begun_s = clock.steady_s()

    def _next(self) -> list[tuple[LaneWorker, AttemptEffects]]:
        size = self._limits.record_batch
        batch, self._waiting = self._waiting[:size], self._waiting[size:]
        return batch

    async def _write(self, batch: list[tuple[LaneWorker, AttemptEffects]]) -> None:
        changes, self._changes = self._changes, []
        record = Record(
            owner=self._owner,
            results=[effects.result for _, effects in batch],
            queues=[effects.queue for _, effects in batch if effects.queue],
            lanes=changes + [effects.lane for _, effects in batch if effects.lane],
        )
        lost = await self._written(record)
        self.unrecorded -= len(batch)
        if lost:
            for worker in _losers(batch, lost):
                self._lost(worker)
        if has_news(record):
            self._events.recorded([pair for pair in batch if pair[0].lane.id not in lost])
        self._tell(batch)

    async def _written(self, record: Record) -> frozenset[int]:
        """Write all in one transaction. While the store is away, results wait; when it refuses a
        batch, each part is written by itself. Answers the lanes that are lost."""
        try:
            return await self._until_written(record)
        except Exception as error:  # noqa: BLE001 - told, and each is written by itself
            self._log.warning(
                "the store refused a batch of results, each is written by itself",
                error=error_text(error),
            )
        lost: frozenset[int] = frozenset()
        refused: list[Record] = []
        for part in split_up(record):
            try:
                lost |= await self._until_written(part)
            except Exception as error:  # noqa: BLE001 - told, and written without its texts
                ids = [to_text(result.message.id) for result in part.results]
                why = "the store refused the texts of a result, they are left out"
                self._log.error(why, messages=ids, error=error_text(error))
                refused.append(part)
        for part in refused:
            # The state of a message counts more than the text of its error.
            lost |= await self._until_written(without_texts(part), patient=True)
        return lost

    async def _until_written(self, record: Record, *, patient: bool = False) -> frozenset[int]:
        while True:
            try:
                recorded = await self._store.record(record)
            except StoreError as error:
                if not (patient or is_about_store(error)):
                    raise
                self._log.store_failed(RECORD, error)
                await self._store.clock.sleep(RETRY_S)
            else:
                self._log.store_works(RECORD)
                return recorded.lost

    def _tell(self, batch: list[tuple[LaneWorker, AttemptEffects]]) -> None:
        self._count(batch)
        for lane, effects in batch:
            change = lane.recorded(effects)
            if change is not None:
                self._changes.append(change)
        self._after(dict.fromkeys(lane for lane, _ in batch))

    def _count(self, batch: list[tuple[LaneWorker, AttemptEffects]]) -> None:
        # Alike ones are counted in C first, by what is at hand: one by one, with their names, they
        # cost 2 µs a message, which is a tenth of all that SQLite needs for one.
        alike = Counter(
            [
                (
                    m.queue,
                    r.kind,
                    (r.started_ms - m.due_ms).bit_length()
                    if not m.attempts
                    else (LATER if r.started_ms else UNSTARTED),
                )
                for _, effects in batch
                for r in (effects.result,)
                for m in (r.message,)
            ]
        )
        figures = self._figures
        figures.turn()
        for (queue, kind, late), count in alike.items():
            if late < UNSTARTED:
                figures.add(self._name(queue, batch), kind, late, count)
        if any(kind is not Kind.delivered for _, kind, _ in alike):
            self._count_troubles(batch)
        if self.endpoints.queues:
            results = [effects.result for _, effects in batch]
            self.endpoints.add(results, self._store.clock.now_ms())

    def _count_troubles(self, batch: list[tuple[LaneWorker, AttemptEffects]]) -> None:
        dead = [one.result.message.queue for _, one in batch if one.result.move is Move.die]
        for queue, count in Counter(dead).items():
            self._figures.add_dead(self._name(queue, batch), count)
        unmade = [one.result.message.queue for _, one in batch if _lacked_setup(one)]
        for queue, count in Counter(unmade).items():
            self._figures.add_setup(self._name(queue, batch), count)

    def _name(self, queue: int, batch: list[tuple[LaneWorker, AttemptEffects]]) -> Name:
        name = self._names.get(queue)
        if name is None:
            lane = next(lane for lane, one in batch if one.result.message.queue == queue)
            key, named = lane.lane.key, lane.cache.queue(queue).queue.name
            if len(self._names) >= NAMES_MAX:
                self._names.clear()
                self.endpoints.queues.clear()
            if named.startswith(QUEUE_PREFIX):
                self.endpoints.queues.add(queue)
            name = (key.tenant, f"{key.transport}:{key.server}", named)
            self._names[queue] = name
        return name


def _lacked_setup(effects: AttemptEffects) -> bool:
    """Whether a try counts that was not made, because something is missing on our side."""
    block = effects.queue.block if effects.queue else None
    result = effects.result
    ours = block is not None and block.kind is BlockKind.setup and result.kind is Kind.quota
    return ours and result.started_ms > 0


def _losers(
    batch: list[tuple[LaneWorker, AttemptEffects]], lost: frozenset[int]
) -> list[LaneWorker]:
    """The workers that lost their lanes. Of an old and a new worker of the same lane it is the old
    one; should the new one have lost it too, its next record says so."""
    workers = list(dict.fromkeys(worker for worker, _ in batch if worker.lane.id in lost))
    newest: dict[int, int] = {}
    several: set[int] = set()
    for worker in workers:
        lane = worker.lane
        several |= {lane.id} if lane.id in newest else set()
        newest[lane.id] = max(newest.get(lane.id, 0), lane.epoch)
    return [
        worker
        for worker in workers
        if worker.lane.id not in several or worker.lane.epoch < newest[worker.lane.id]
    ]
