"""Turns results into the arguments of the function record."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct, field

from postroad.model.batch import MARK
from postroad.model.decide import Move
from postroad.model.record import (
    LaneChange,
    QueueChange,
    Record,
    Recorded,
    Result,
    ended_jobs,
    ends_of,
    kept_bodies,
    kept_results,
)
from postroad.model.states import NEVER
from postroad.stores.postgres.base import StoreAnswer, decoder, literal, once
from postroad.stores.postgres.batches import PostgresBatches
from postroad.stores.postgres.connections import ANSWER_S, QUERIES, Raw
from postroad.stores.postgres.job_outputs import output_columns
from postroad.stores.postgres.webhooks import note_columns

UNCERTAIN_LEVEL: Final = -1


class Applied(StoreAnswer, frozen=True):
    """Which of the record's lanes are the owner's."""

    held: list[bool] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    """Those that have fewer open members now."""


APPLIED: Final = decoder(Applied)


class Failed(Struct, frozen=True):
    """One result that did not deliver, as record_failed reads it. `pair` is the place of its lane
    in the batch; `since` the tries before the first result of this message in the batch, `last`
    whether this is the last one; `rung` and `at` where it lay when it was read: elsewhere it was
    replayed since. What is None stays as it is."""

    pair: int
    id: int
    rung: int
    at: int
    queue: int
    tries: int
    since: int
    last: bool
    was: int
    level: int
    to: int | None
    due: int | None
    place: int | None
    gone: str | None
    reason: str | None
    kind: str
    status: int
    error: str
    started: int
    took: int
    order_group: int
    priority: int


class TargetRung(Struct, frozen=True):
    """A rung that results move to, and their first due time."""

    pair: int
    queue: int
    level: int
    priority: int
    due: int


class PostgresRecording(PostgresBatches):
    """Records results."""

    async def record(self, record: Record) -> Recorded:
        """Apply results in one transaction, fenced."""
        batch = RecordBatch(record)
        notes = note_columns(record.results)
        query = "record_noted" if notes else "record"
        values = (record.owner, *batch.columns(), *notes)
        kept = [r for r in record.results if r.keep]
        members = [r for r in record.results if r.message.headers and MARK in r.message.headers]
        if members and not (kept or notes):
            query, values = "record_members", (*values, *_ended(members))
        if kept or (members and notes):
            text, touched = await self._record_beside(kept, members, query, values)
        else:
            text, touched = await self._one(self._write, "record", query, *values), []
        answer = self._read_answer(text, APPLIED)
        if kept and (ended := ended_jobs(kept)):
            self.bell.ring_ended(ended)
        if self.bell.awaits:
            self.bell.ring_awaited(ends_of(record.results))
        if members:
            self.batches_touched(touched or answer.batches)
        lanes = zip(batch.lanes, answer.held, strict=True)
        return Recorded(frozenset(lane for lane, ours in lanes if not ours))

    async def _record_beside(
        self,
        kept: Sequence[Result],
        members: Sequence[Result],
        query: str,
        values: tuple[object, ...],
    ) -> tuple[str, list[int]]:
        """Keep bodies before the record deletes their messages, and what handlers returned, and
        count members of batches after it, in its transaction."""
        self._check_open()
        now_ms = self.clock.now_ms()
        bodies = kept_bodies(kept, now_ms)
        ids, ends = [number for number, _ in bodies], [end for _, end in bodies]
        results = output_columns(kept_results(kept, now_ms))

        async def work(raw: Raw) -> tuple[str, list[int]]:
            if bodies:
                await raw.execute(QUERIES["keep_bodies"], ids, ends)
            if results:
                await raw.execute(QUERIES["outputs_put"], *results)
            text: str = await raw.fetchval(QUERIES[query], *values, timeout=ANSWER_S)
            if not members:
                return text, []
            ended = await raw.fetchval(QUERIES["end_members"], values[0], *_ended(members))
            return text, msgspec.json.decode(ended, type=list[int])

        return await self._write.together("record", work)


def _ended(members: Sequence[Result]) -> tuple[str, list[int], list[bool]]:
    """The arguments of end_members: who is delivered, who ends else, and which of these is dead."""
    gone = [r for r in members if r.move in (Move.die, Move.cancel)]
    done = [r.message.id for r in members if r.move is Move.deliver]
    return literal(done), [r.message.id for r in gone], [r.move is Move.die for r in gone]


class RecordBatch:
    """A record as the arguments of the function record."""

    def __init__(self, record: Record) -> None:
        pairs = dict.fromkeys([(r.message.lane, r.epoch) for r in record.results])
        self._pairs = {pair: place for place, pair in enumerate(pairs, start=1)}
        self._record = record
        self._done = [r for r in record.results if r.move is Move.deliver]
        self._failed = []
        if len(self._done) < len(record.results):
            self._failed = [r for r in record.results if r.move is not Move.deliver]
        for change in record.queues:
            _ = self._pair(change.lane, change.epoch)  # where it stands does not matter
        for lane_change in record.lanes:
            _ = self._pair(lane_change.lane, lane_change.epoch)  # where it stands does not matter

    @property
    def lanes(self) -> list[int]:
        """The lanes of the batch, pair by pair."""
        return [lane for lane, _ in self._pairs]

    def _pair(self, lane: int, epoch: int) -> int:
        return self._pairs.setdefault((lane, epoch), len(self._pairs) + 1)

    def columns(self) -> tuple[object, ...]:
        """All arguments but the owner."""
        done = self._done
        return (
            literal(self.lanes),
            literal([epoch for _, epoch in self._pairs]),
            literal([r.message.id for r in done]),
            once([r.message.queue for r in done]),
            once([r.message.attempts for r in done]),
            once([r.took_ms for r in done]),
            list({r.message.rung for r in self._record.results if r.order_group}),
            _json(self._failures()),
            _json(self._targets()),
            _json(self._queues(self._record.queues)),
            _json(self._lanes(self._record.lanes)),
        )

    def _failures(self) -> list[Failed]:
        since: dict[int, int] = {}
        last: dict[int, Result] = {}
        for result in self._failed:
            since.setdefault(result.message.id, result.message.attempts)
            last[result.message.id] = result
        return [
            self._failure(r, since[r.message.id], last=last[r.message.id] is r)
            for r in self._failed
        ]

    def _failure(self, result: Result, since: int, *, last: bool) -> Failed:
        message = result.message
        to, due, place = _way(result)
        gone = {Move.die: "dead", Move.cancel: "cancelled"}.get(result.move)
        return Failed(
            pair=self._pair(message.lane, result.epoch),
            id=message.id,
            rung=message.rung,
            at=message.place,
            queue=message.queue,
            tries=message.attempts,
            since=since,
            last=last,
            was=message.level,
            level=message.level if result.move is Move.doubt else result.level,
            to=to,
            due=due,
            place=place,
            gone=gone,
            reason=(result.reason or "exhausted") if gone == "dead" else None,
            kind=result.kind,
            status=result.status,
            error=result.error,
            started=result.started_ms,
            took=result.took_ms,
            order_group=result.order_group,
            priority=result.priority,
        )

    def _targets(self) -> list[TargetRung]:
        found: dict[tuple[int, int, int, int], int] = {}
        for result in self._failed:
            to, due, _ = _way(result)
            if to is not None:
                pair = self._pair(result.message.lane, result.epoch)
                key = (pair, result.message.queue, to, result.priority)
                found[key] = min(found.get(key, NEVER), due or NEVER)
        return [TargetRung(*key, due=due) for key, due in found.items()]

    def _queues(self, changes: Sequence[QueueChange]) -> list[dict[str, object]]:
        """The last change of each queue counts."""
        last = {change.queue: change for change in changes}
        return [
            {
                "pair": self._pair(change.lane, change.epoch),
                "queue": change.queue,
                "kind": change.block.kind if change.block else "",
                "until": change.block.until_ms if change.block else 0,
                "reason": change.block.reason if change.block else "",
                "streak": change.block.streak if change.block else 0,
                "since": change.block.since_ms if change.block else 0,
            }
            for change in last.values()
        ]

    def _lanes(self, changes: Sequence[LaneChange]) -> list[dict[str, object]]:
        last = {change.lane: change for change in changes}
        return [
            {
                "pair": self._pair(change.lane, change.epoch),
                "strikes": change.circuit.strikes,
                "opened": change.circuit.opened,
                "until": change.circuit.until_ms,
                "since": change.circuit.since_ms,
                "reason": change.circuit.reason,
                "crashes": change.crashes,
                "early": change.early_ms,
            }
            for change in last.values()
        ]


def _way(result: Result) -> tuple[int | None, int | None, int | None]:
    """Where a message goes: (level of its next rung, due time, place); None: stays as it is."""
    match result.move:
        case Move.climb | Move.wait if result.order_group:
            return None, result.due_ms, None  # a failed head stays the head
        case Move.climb | Move.wait:
            return result.level, result.due_ms, result.due_ms
        case Move.behind:
            return None, None, result.due_ms
        case Move.doubt:
            return UNCERTAIN_LEVEL, None, result.message.due_ms
        case Move.hold:
            return None, NEVER, None
        case _:
            return None, None, None


def _json(rows: Iterable[object]) -> str | None:
    listed = list(rows)
    return msgspec.json.encode(listed).decode() if listed else None
