"""Campaigns, their recipients and imports, in a SQLite file."""

from collections.abc import Sequence

from postroad.campaigns.rows import CHANGED, NOT_OURS, read_import, same_file, text
from postroad.campaigns.sqlite.db import Db
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


def move(db: Db, campaign: Campaign, verb: Verb, reason: str, at_ms: int) -> bool:
    """Change a campaign's state and its jobs'."""
    allowed, after = MOVES[verb]
    values = (campaign.id, after, reason, at_ms, db.now_ms, text(sorted(allowed)))
    if verb is Verb.retry and _busy(db, campaign):
        return False
    if verb in FROM_DRAFT and db.one("importing", campaign.id):
        return False
    if not db.changed("move", *values):
        return False
    if verb is Verb.retry:
        db.run("retry_rows", campaign.id)
        db.run("retry_count", campaign.id)
    if verb in JOB_MOVES:
        before, then = JOB_MOVES[verb]
        db.run("move_jobs", campaign.id, then, text(sorted(before)))
    if after == "running" and not (db.one("job_count", campaign.id) or (0,))[0]:
        for _ in range(campaign.spec.jobs):
            db.run("job_insert", campaign.id, db.now_ms)
    return True


def _busy(db: Db, campaign: Campaign) -> bool:
    return bool((db.one("busy_jobs", campaign.id) or (0,))[0])


def settle(db: Db, campaign: int, state: RowState, ns: Sequence[int]) -> int:
    """Uncertain ones are sent, or unsent."""
    named = ns or [n for (n,) in db.all("uncertain_rows", campaign)]
    done = [n for n in named if db.changed("settle", campaign, n, state, "by hand", db.now_ms)]
    if done:
        place = min(done) - 1 if state == RowState.unsent else NEVER
        db.run("add", campaign, (state == "sent") * len(done), 0, -len(done), 0, place)
    return len(done)


def callback(db: Db, campaign: int, n: int, provider_id: str, status: str, code: str) -> bool:
    """A provider's word about one."""
    row = db.one("message", campaign, n)
    if row is None or row[2] not in ("", provider_id):
        return False
    was, _, _, old = row
    tries, begun_ms = db.one("op", campaign, n) or (0, 0)
    db.run("op_gone", campaign, n, 0)
    db.run("take", campaign, n, provider_id, tries, begun_ms, db.now_ms)
    late = db.changed("status", campaign, n, status, db.now_ms, code, text(earlier(status)))
    bad = (status in NOT_DELIVERED) - (old in NOT_DELIVERED) if late else 0
    if was != "sent" or bad:
        changes = (was != "sent", -(was == "failed"), -(was == "uncertain"), bad)
        db.run("add", campaign, *map(int, changes), NEVER)
    return True


def open_import(db: Db, new: Import) -> Import:
    """Begin, or go on with the one of the same file."""
    row = db.one("importing", new.campaign)
    if row is not None:
        current = read_import(row)
        same_file(current, new)
        return current
    if not db.changed("import_open", new.campaign, new.digest, text(new.columns)):
        raise WrongState(CHANGED)
    return new


def load(db: Db, current: Import, rows: NewRows) -> list[int]:
    """Keep rows, and that the file is read up to the last of them."""
    campaign, doubles = current.campaign, []
    found = db.one("last_n", campaign, current.digest, current.line)
    if found is None:
        raise WrongState(NOT_OURS)
    n = first = found[0]
    for line, recipient, fields in zip(rows.lines, rows.recipients, rows.fields, strict=True):
        if db.changed("row_insert", campaign, n + 1, line, recipient, fields):
            n += 1
        else:
            doubles.append(line)
    db.run("import_go", campaign, rows.lines[-1], n - first, len(doubles))
    db.run("import_count", campaign, n, n - first)
    return doubles


def end_import(db: Db, campaign: int, *, keep: bool) -> bool:
    """All is read, or nothing stays."""
    if db.one("importing", campaign) is None:
        return False
    if keep:
        db.run("import_columns", campaign)
    else:
        db.run("import_undo", campaign)
        db.run("import_undo_count", campaign)
    return bool(db.changed("import_end", campaign))
