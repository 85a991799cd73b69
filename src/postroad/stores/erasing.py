"""Erasures as rows, and the rows of an export: what both databases do alike."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.audit import AuditLine, AuditOutcome
from postroad.model.privacy import FIRST_STEP, LAST_STEP, Erasure, ErasureJob, Subject
from postroad.model.states import NEVER
from postroad.model.suppression import erased_form, list_address
from postroad.ports.privacy import Exported
from postroad.stores.exported_rows import EXPORTS, read_page
from postroad.stores.personal_data import STEPS, Erased, after_cancelling
from postroad.stores.statements import Row, Statements, Value

COUNTS: Final = msgspec.json.Decoder(dict[str, int])


def _list_forms(subject: Subject) -> str:
    """The forms in which a recipient may be on a suppression list, as JSON."""
    address = list_address(subject.recipient)
    return msgspec.json.encode([address, erased_form(subject.tenant, address)]).decode()


NAMED_KINDS: Final[dict[str, Callable[[Subject], str]]] = {
    "recipient": lambda one: one.recipient,
    "suppression": _list_forms,
    "mail_report": _list_forms,
}
"""What is found by a recipient and not by a queue's name: what is looked for there."""


class ErasureNote(Struct, frozen=True):
    """How a job stands after a slice."""

    step: str
    step_at_ms: int
    after: int
    erased: dict[str, int]
    waits_for: int
    kept_queues: int
    recipient: str
    ended_at_ms: int


def next_step(job: ErasureJob, done: Erased, now_ms: int) -> ErasureNote:
    """Add up a slice, and go on to the next step where one is over."""
    erased = dict(job.erased)
    for table, count in done.erased.items():
        if count:
            erased[table] = erased.get(table, 0) + count
    step, step_at_ms, after = job.step, job.step_at_ms, done.after
    if after is None:
        names = [*STEPS, LAST_STEP]
        step, step_at_ms, after = names[names.index(step) + 1], now_ms, 0
    over = step == LAST_STEP
    recipient = "" if over else job.subject.recipient
    ended_ms = now_ms if over else 0
    kept = job.kept_queues if done.kept_queues is None else done.kept_queues
    return ErasureNote(step, step_at_ms, after, erased, done.waits_for, kept, recipient, ended_ms)


class ErasureTable(Statements):
    """Stores erasures, and reads what is exported."""

    async def erasure_add(self, subject: Subject, now_ms: int) -> int:
        """Store a new job; answers its number."""
        who = (subject.tenant, subject.recipient, subject.digest)
        return await self.insert("erase", "erasure_insert", *who, now_ms, FIRST_STEP)

    async def erasure_page(
        self, tenant: str | None, number: int, after: int, limit: int
    ) -> Sequence[Erasure]:
        """Jobs, the newest first."""
        values = (tenant, number, after or NEVER, limit)
        return [read_erasure(row) for row in await self.select("erase", "erasure_page", *values)]

    async def erasures_waiting(self) -> Sequence[ErasureJob]:
        """The oldest jobs that are not done."""
        return [read_job(row) for row in await self.select("erase", "erasures_waiting")]

    async def erasure_waits(self, number: int, count: int) -> None:
        """Note how many tries a job waits for."""
        await self.execute("erase", "erasure_waits", number, count)

    async def erasure_cancelled(self, number: int, now_ms: int) -> None:
        """Begin the next step when no message is left."""
        await self.execute("erase", "erasure_cancelled", number, after_cancelling(), now_ms)

    async def erasure_retain(self, before_ms: int) -> None:
        """Delete jobs that ended before a time."""
        await self.execute("retain", "erasure_retain", before_ms)

    def _walker(self) -> Statements:
        """Where long reads run."""
        return self

    async def export_page(
        self, kind: str, subject: Subject, after: tuple[int, int], limit: int
    ) -> tuple[list[Exported], tuple[int, int] | None]:
        """A page of rows of a kind."""
        whom, one = subject.recipient, ""
        if whom and kind in NAMED_KINDS:
            whom, one = NAMED_KINDS[kind](subject), "_one"
        values = (subject.tenant, whom, *after, limit)
        rows = await self._walker().select("export", f"export_{kind}{one}", *values)
        return read_page(EXPORTS[kind], rows, limit)


def read_erasure(row: Row) -> Erasure:
    """An erasure from its row, as people see it."""
    number, tenant, digest, asked_ms, ended_ms, step, waits_for, erased, kept = row
    counts = COUNTS.decode(erased)
    return Erasure(
        number, tenant, digest, asked_ms, ended_ms or None, step, waits_for, counts, kept
    )


def read_job(row: Row, *, keeps_queues: bool = False) -> ErasureJob:
    """An erasure from its row, as its steps see it."""
    number, tenant, recipient, asked_ms, step, step_ms, after, erased, kept = row
    subject, counts = Subject(tenant, recipient), COUNTS.decode(erased)
    place = (asked_ms, step, step_ms, after)
    return ErasureJob(number, subject, *place, counts, kept, keeps_queues)


def note_values(number: int, note: ErasureNote) -> tuple[Value, ...]:
    """How far a job is, as the values of its row."""
    erased = msgspec.json.encode(note.erased).decode()
    place, counts = (note.step, note.step_at_ms, note.after), (note.waits_for, note.kept_queues)
    return (number, *place, erased, *counts, note.recipient, note.ended_at_ms)


def ended_line(job: ErasureJob, note: ErasureNote) -> AuditLine:
    """The line of the audit log about the end of a job, written with it."""
    what = {"erasure": str(job.id)}
    if job.subject.recipient:
        what["recipient_sha256"] = job.subject.digest
    return AuditLine(
        id=0,
        at_ms=note.ended_at_ms,
        ended_at_ms=note.ended_at_ms,
        tenant=job.subject.tenant,
        actor="erasure",
        name="",
        address="",
        verb="privacy_erased",
        what=what,
        outcome=AuditOutcome.done,
        status=0,
        count=sum(note.erased.values()),
    )
