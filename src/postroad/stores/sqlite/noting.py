"""Writes tries to the log of webhooks."""

from collections.abc import Sequence

from postroad.model.record import Result
from postroad.stores.sqlite.database import Database


def note_tries(db: Database, results: Sequence[Result]) -> None:
    """Log the tries that carry a note; not fenced, since it is true whoever owns the lane now."""
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
