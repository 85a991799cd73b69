"""Messages that replace earlier ones which have not started."""

from collections.abc import Sequence

from msgspec.structs import replace

from postroad.model.entities import Accepted, Draft
from postroad.model.replacing import KEPT_MS, MARGIN_MS, REPLACED, STARTED, due_ms
from postroad.stores.sqlite import inbox, recording
from postroad.stores.sqlite.database import Database


def accept(db: Database, drafts: Sequence[Draft], now_ms: int) -> list[Accepted]:
    """Store drafts one after the other; each takes the place of the one before with its key."""
    return [_accept(db, draft, now_ms) for draft in drafts]


def _accept(db: Database, draft: Draft, now_ms: int) -> Accepted:
    if not draft.replace:
        return inbox.accept(db, [draft])[0]
    old, first = db.one("replaced_find", draft.queue, draft.replace) or (0, b"")
    first_ms, earlier = now_ms, ""
    if (row := db.one("replaceable", old)) is not None:
        rung, place, due, attempts, marks = row
        earlier = STARTED
        if due > now_ms + MARGIN_MS and not attempts and not marks:
            recording.cancel_all(db, [(old, rung, place)], now_ms)
            first_ms, earlier = int(first), REPLACED
    stored = replace(draft, due_ms=due_ms(draft, first_ms))
    ends_ms = stored.due_ms + KEPT_MS
    values = (draft.queue, draft.replace, draft.id, str(first_ms).encode(), ends_ms)
    db.run("replaced_note", *values)
    (answer,) = inbox.accept(db, [stored])
    return replace(answer, earlier=earlier)
