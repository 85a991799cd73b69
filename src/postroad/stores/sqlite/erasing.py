"""Erases and exports what is stored about a tenant or a recipient."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

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
from postroad.stores.sqlite import control
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.collecting import delete_queue
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.recording import forget


class SqliteErasing(SqliteBase, ErasureTable):
    """Erases in slices: each is one transaction, which also counts."""

    async def erasure_cancel(self, which: MessageFilter, after: Cursor, limit: int) -> CancelSlice:
        """Cancel the next messages of a job, or ask their owners to."""
        now_ms = self.clock.now_ms()
        return await self.write(
            "erase", lambda db: control.cancel_some(db, which, after, limit, now_ms), durable=True
        )

    async def erase_slice(self, number: int, *, keeps_queues: bool = False) -> Erasure | None:
        """Do the next part of a job."""
        now_ms = self.clock.now_ms()
        return await self.write(
            "erase", lambda db: _slice(db, number, now_ms, keeps_queues=keeps_queues), durable=True
        )


def _slice(db: Database, number: int, now_ms: int, *, keeps_queues: bool) -> Erasure | None:
    row = db.one("erasure_lock", number)
    if row is None:
        return None
    job = read_job(row, keeps_queues=keeps_queues)
    work = STEPS[job.step](job, now_ms)
    answer: Any = None
    done: Erased | None = None
    while done is None:
        try:
            answer = _ask(db, work.send(answer))
        except StopIteration as ended:
            done = ended.value
    note = next_step(job, done, now_ms)
    db.run("erasure_note", *note_values(number, note))
    if note.ended_at_ms:
        db.run("audit_insert", *line_values(ended_line(job, note)))
    return read_erasure(db.all("erasure_page", None, number, NEVER, 1)[0])


def _ask(db: Database, asked: ErasureQuery) -> Any:
    if asked.statement in BY_HAND:
        return BY_HAND[asked.statement](db, *asked.values)
    if asked.statement.endswith("_find"):
        return db.all(asked.statement, *asked.values)
    return db.changed(asked.statement, *asked.values)


def _queues(db: Database, ids: str) -> int:
    numbers: list[int] = msgspec.json.decode(ids)
    for number in numbers:
        db.run("hook_delete", number)
        delete_queue(db, number)
    db.rungs.clear()
    return len(numbers)


def _finished(db: Database, statement: str, ids: str) -> int:
    gone = db.all(statement, ids)
    forget(db, gone)
    return len(gone)


def _recipient(db: Database, campaign: int, n: int) -> int:
    db.run("erase_recipient_count", campaign, n)
    return db.changed("erase_recipient", campaign, n)


BY_HAND: Final[dict[str, Callable[..., int]]] = {
    "erase_dead": lambda db, ids: _finished(db, "erase_dead", ids),
    "erase_history": lambda db, ids: _finished(db, "erase_history", ids),
    "erase_queue": _queues,
    "erase_recipient": _recipient,
}
"""What takes more than one statement here."""
