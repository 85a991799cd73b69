"""Campaigns, their recipients and imports: what each verb does inside its transaction."""

from collections.abc import Sequence

from postroad.model.campaign import (
    FROM_DRAFT,
    JOB_MOVES,
    MOVES,
    NOT_DELIVERED,
    Campaign,
    RowState,
    Verb,
    WrongState,
    earlier,
)
from postroad.model.states import NEVER
from postroad.ports.campaigns import Import, NewRows
from postroad.stores.campaign_rows import CHANGED, NOT_OURS, read_import, same_file, text
from postroad.stores.sqlite.database import Database

Callback = tuple[str, str, str]
"""A provider's id of a message, its status, and an error code."""


def move(
    db: Database, campaign: Campaign, verb: Verb, now_ms: int, reason: str = "", at_ms: int = 0
) -> bool:
    """Change a campaign's state and its jobs'; False when it is not in a state for that."""
    allowed, after = MOVES[verb]
    values = (campaign.id, after, reason, at_ms, now_ms, text(sorted(allowed)))
    if verb is Verb.retry and db.number("jobs_busy", campaign.id):
        return False
    if verb in FROM_DRAFT and db.one("import_find", campaign.id):
        return False
    if not db.changed("campaign_move", *values):
        return False
    if verb is Verb.retry:
        db.run("recipients_retry", campaign.id)
        db.run("campaign_no_failures", campaign.id)
    if verb in JOB_MOVES:
        before, then = JOB_MOVES[verb]
        db.run("jobs_move", campaign.id, then, text(sorted(before)))
    if after == "running" and not db.number("job_count", campaign.id):
        for _ in range(campaign.spec.jobs):
            db.run("job_insert", campaign.id, now_ms)
    return True


def delete_some(db: Database, campaign: int, limit: int, now_ms: int) -> bool | None:
    """Delete some recipients, and the campaign with the last; None when it may not be deleted."""
    if not db.changed("campaign_doom", campaign, now_ms):
        return None
    for name in ("jobs_delete", "ops_clear", "import_end"):
        db.run(name, campaign)
    if db.changed("recipients_delete", campaign, limit) == limit:
        return False
    return bool(db.changed("campaign_delete", campaign))


def settle(db: Database, campaign: int, state: RowState, ns: Sequence[int], now_ms: int) -> int:
    """Settle uncertain recipients as sent or unsent (none named: all); answers how many."""
    named = ns or [n for (n,) in db.all("recipients_uncertain", campaign)]
    done = [
        n for n in named if db.changed("recipient_settle", campaign, n, state, "by hand", now_ms)
    ]
    if done:
        place = min(done) - 1 if state == RowState.unsent else NEVER
        sent = (state == "sent") * len(done)
        db.run("campaign_add", campaign, sent, 0, -len(done), 0, 0, place, 0)
    return len(done)


def callback(db: Database, campaign: int, n: int, said: Callback, now_ms: int) -> bool:
    """Apply what a provider reports about one recipient; False when it is not known."""
    provider_id, status, code = said
    row = db.one("recipient_find", campaign, n)
    if row is None or row[2] not in ("", provider_id):
        return False
    was, _, _, old, temporary = row
    tries, begun_ms = db.one("op_find", campaign, n) or (0, 0)
    db.run("op_gone", campaign, n, 0)
    db.run("recipient_taken", campaign, n, provider_id, tries, begun_ms, now_ms)
    late = db.changed("recipient_status", campaign, n, status, now_ms, code, text(earlier(status)))
    bad = (status in NOT_DELIVERED) - (old in NOT_DELIVERED) if late else 0
    if was != "sent" or bad:
        gone = tuple(-(was == state) for state in ("failed", "uncertain", "suppressed"))
        changes = (was != "sent", *gone[:2], bad, gone[2])
        db.run("campaign_add", campaign, *map(int, changes), NEVER, -temporary)
    return True


def open_import(db: Database, new: Import) -> Import:
    """Begin an import, or go on with the one of the same file."""
    row = db.one("import_find", new.campaign)
    if row is not None:
        current = read_import(row)
        same_file(current, new)
        return current
    if not db.changed("import_open", new.campaign, new.digest, text(new.columns)):
        raise WrongState(CHANGED)
    return new


def load(db: Database, current: Import, rows: NewRows) -> list[int]:
    """Insert rows, and note that the file is read up to the last of them; answers the lines of
    recipients that are there already."""
    campaign, doubles = current.campaign, []
    found = db.one("import_last_n", campaign, current.digest, current.line)
    if found is None:
        raise WrongState(NOT_OURS)
    n = first = found[0]
    for line, recipient, fields in zip(rows.lines, rows.recipients, rows.fields, strict=True):
        if db.changed("recipient_insert", campaign, n + 1, line, recipient, fields):
            n += 1
        else:
            doubles.append(line)
    db.run("import_go", campaign, rows.lines[-1], n - first, len(doubles))
    db.run("import_count", campaign, n, n - first)
    return doubles


def end_import(db: Database, campaign: int, *, keep: bool) -> bool:
    """End an import; without `keep` its recipients are deleted. False: there was none."""
    if db.one("import_find", campaign) is None:
        return False
    if keep:
        db.run("import_columns", campaign)
    else:
        db.run("import_undo", campaign)
        db.run("import_undo_count", campaign)
    return bool(db.changed("import_end", campaign))
