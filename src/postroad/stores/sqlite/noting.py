"""Notes beside messages: the log of tries of webhooks, and whom messages name."""

from collections.abc import Sequence

from postroad.model.entities import Draft
from postroad.model.recipients import recipient_in
from postroad.model.record import Result
from postroad.stores.sqlite.database import Database, Row


def note_tries(db: Database, results: Sequence[Result]) -> None:
    """Log the tries that carry a note. This is not fenced: it is true no matter who owns the lane
    now."""
    rows = [
        (
            r.message.id,
            r.message.attempts + 1,
            r.started_ms,
            r.message.level,
            r.kind,
            r.status,
            r.took_ms,
            r.details.answered_ms,
            r.details.connect_ms,
            r.details.address,
            r.details.fault,
            r.error,
            r.details.headers,
            r.details.answer,
        )
        for r in results
        if r.details is not None
    ]
    if rows:
        db.many("try_insert", rows)


def note_recipients(db: Database, drafts: Sequence[Draft]) -> None:
    """Note the recipients of accepted messages."""
    rows = [(draft.id, draft.queue, recipient_in(draft.headers)) for draft in drafts]
    db.many("message_recipient_insert", [row for row in rows if row[2]])


def forget_recipients(db: Database, gone: Sequence[Row]) -> None:
    """Delete the recipients of messages (id, …) that were deleted."""
    if gone and db.number("recipients_any"):
        db.many("message_recipient_delete", [row[:1] for row in gone])
