"""Erases and exports what is stored about a tenant or a recipient."""

from collections.abc import Sequence
from typing import Any

from postroad.model.control import CancelSlice, Cursor, MessageFilter
from postroad.model.privacy import FIRST_STEP, Erasure, ErasureJob, Subject
from postroad.model.states import NEVER
from postroad.ports.privacy import Exported
from postroad.stores.audit_rows import line_values
from postroad.stores.erasure_rows import ended_line, note_values, read_erasure, read_job
from postroad.stores.exported_rows import EXPORTS, read_page
from postroad.stores.personal_data import STEPS, Ask, Done, after_cancelling, next_step
from postroad.stores.postgres.connections import QUERIES, Raw
from postroad.stores.postgres.control import PostgresControl


class PostgresErasing(PostgresControl):
    """Erases in slices: each is one transaction, which also counts. Whoever has the job's row
    locked works at it."""

    async def erasure_add(self, subject: Subject) -> int:
        """Keep a job."""
        values = (
            subject.tenant,
            subject.recipient,
            subject.digest,
            self.clock.now_ms(),
            FIRST_STEP,
        )
        return int(await self._one(self._side, "erase", "erasure_insert", *values))

    async def erasure_page(
        self, tenant: str | None, number: int, after: int, limit: int
    ) -> Sequence[Erasure]:
        """Jobs, the newest first."""
        self._check_open()
        rows = await self._side.rows(
            "erase", "erasure_page", (tenant, number, after or NEVER, limit)
        )
        return [read_erasure(tuple(row)) for row in rows]

    async def erasures_waiting(self) -> Sequence[ErasureJob]:
        """The oldest jobs that are not done."""
        self._check_open()
        rows = await self._side.rows("erase", "erasures_waiting")
        return [read_job(tuple(row)) for row in rows]

    async def erasure_waits(self, number: int, count: int) -> None:
        """Note how many tries a job waits for."""
        self._check_open()
        _ = await self._side.rows("erase", "erasure_waits", (number, count))  # it gives no rows

    async def erasure_cancel(self, which: MessageFilter, after: Cursor, limit: int) -> CancelSlice:
        """Cancel the next messages of a job, or ask their owners to."""
        return await self.cancel_some(which, after, limit)

    async def erasure_cancelled(self, number: int) -> None:
        """Begin the next step when no message is left."""
        self._check_open()
        values = (number, after_cancelling(), self.clock.now_ms())
        _ = await self._side.rows("erase", "erasure_cancelled", values)  # it gives no rows

    async def erase_slice(self, number: int, *, keeps_queues: bool = False) -> Erasure | None:
        """Do the next part of a job."""
        self._check_open()
        now_ms = self.clock.now_ms()

        async def work(raw: Raw) -> Erasure | None:
            return await _slice(raw, number, now_ms, keeps_queues=keeps_queues)

        return await self._side.together("erase", work)

    async def export_page(
        self, kind: str, subject: Subject, after: tuple[int, int], limit: int
    ) -> tuple[list[Exported], tuple[int, int] | None]:
        """A page of rows of a kind."""
        self._check_open()
        values = (subject.tenant, subject.recipient, *after, limit)
        rows = await self._side.rows("export", f"export_{kind}", values)
        return read_page(EXPORTS[kind], [dict(row) for row in rows], limit)


async def _slice(raw: Raw, number: int, now_ms: int, *, keeps_queues: bool) -> Erasure | None:
    row = await raw.fetchrow(QUERIES["erasure_lock"], number)
    if row is None:
        return None
    job = read_job(tuple(row), keeps_queues=keeps_queues)
    work = STEPS[job.step](job, now_ms)
    answer: Any = None
    done: Done | None = None
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


async def _ask(raw: Raw, asked: Ask) -> Any:
    query = QUERIES[asked.statement]
    if asked.statement.endswith("_find"):
        return [tuple(row) for row in await raw.fetch(query, *asked.values)]
    if query.lstrip().startswith("select"):
        return await raw.fetchval(query, *asked.values)
    done = await raw.execute(query, *asked.values)
    return int(done.rpartition(" ")[2])
