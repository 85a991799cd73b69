"""Erasures as rows, the same on both databases."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from postroad.model.audit import AuditLine, AuditOutcome
from postroad.model.privacy import Erasure, ErasureJob, Subject
from postroad.stores.personal_data import NextStep

COUNTS: Final = msgspec.json.Decoder(dict[str, int])


def read_erasure(row: Sequence[Any]) -> Erasure:
    """An erasure from its row, as people see it."""
    number, tenant, digest, asked_ms, ended_ms, step, waits_for, erased, kept = row
    counts = COUNTS.decode(erased)
    return Erasure(
        number, tenant, digest, asked_ms, ended_ms or None, step, waits_for, counts, kept
    )


def read_job(row: Sequence[Any], *, keeps_queues: bool = False) -> ErasureJob:
    """An erasure from its row, as its steps see it."""
    number, tenant, recipient, asked_ms, step, step_ms, after, erased, kept = row
    subject, counts = Subject(tenant, recipient), COUNTS.decode(erased)
    place = (asked_ms, step, step_ms, after)
    return ErasureJob(number, subject, *place, counts, kept, keeps_queues)


def note_values(number: int, note: NextStep) -> tuple[Any, ...]:
    """How far a job is, as the values of its row."""
    erased = msgspec.json.encode(note.erased).decode()
    values = structs.astuple(structs.replace(note, erased=erased))
    return (number, *values)


def ended_line(job: ErasureJob, note: NextStep) -> AuditLine:
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
