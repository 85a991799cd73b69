"""Erases and exports what is stored about a tenant or a recipient."""

from typing import Any

from postroad.model.control import CancelSlice, Cursor, MessageFilter
from postroad.model.privacy import Erasure
from postroad.model.states import NEVER
from postroad.stores.audit import line_values
from postroad.stores.erasing import (
    ErasureTable,
    ended_line,
    next_step,
    note_values,
    read_erasure,
    read_job,
)
from postroad.stores.personal_data import STEPS, Erased, ErasureQuery
from postroad.stores.postgres.connections import QUERIES, Raw, StoreConnection
from postroad.stores.postgres.control import PostgresControl


class PostgresErasing(PostgresControl, ErasureTable):
    """Erases in slices: each is one transaction, which also counts. The process that has the job's
    row locked works at it."""

    _own: StoreConnection | None = None

    async def erasure_cancel(self, which: MessageFilter, after: Cursor, limit: int) -> CancelSlice:
        """Cancel the next messages of a job, or ask their owners to."""
        return await self.cancel_some(which, after, limit)

    erasure_cancel_ids = PostgresControl.cancel

    async def erase_slice(self, number: int, *, keeps_queues: bool = False) -> Erasure | None:
        """Do the next part of a job."""
        now_ms = self.clock.now_ms()

        async def work(raw: Raw) -> Erasure | None:
            return await _slice(raw, number, now_ms, keeps_queues=keeps_queues)

        return await self._walker().together("erase", work)

    def _walker(self) -> StoreConnection:
        """A connection of its own: a slice of history may take 200 ms, and claims use `side`."""
        self._check_open()
        if self._own is None:
            self._own = self.own_line("erase")
        return self._own


async def _slice(raw: Raw, number: int, now_ms: int, *, keeps_queues: bool) -> Erasure | None:
    row = await raw.fetchrow(QUERIES["erasure_lock"], number)
    if row is None:
        return None
    job = read_job(tuple(row), keeps_queues=keeps_queues)
    work = STEPS[job.step](job, now_ms)
    answer: Any = None
    done: Erased | None = None
    while done is None:
        try:
            answer = await _ask(raw, work.send(answer))
        except StopIteration as ended:
            done = ended.value
    note = next_step(job, done, now_ms)
    await raw.execute(QUERIES["erasure_note"], *note_values(number, note))
    if note.ended_at_ms:
        await raw.execute(QUERIES["audit_insert"], *line_values(ended_line(job, note)))
    (found,) = await raw.fetch(QUERIES["erasure_page"], None, number, NEVER, 1)
    return read_erasure(tuple(found))


async def _ask(raw: Raw, asked: ErasureQuery) -> Any:
    query = QUERIES[asked.statement]
    if asked.statement.endswith("_find"):
        return [tuple(row) for row in await raw.fetch(query, *asked.values)]
    if query.lstrip().startswith("select"):
        return await raw.fetchval(query, *asked.values)
    done = await raw.execute(query, *asked.values)
    return int(done.rpartition(" ")[2])
