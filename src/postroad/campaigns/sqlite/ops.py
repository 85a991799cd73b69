"""What senders and loggers do, in a SQLite file."""

from collections.abc import Sequence

from postroad.campaigns.rows import read_campaign, read_exact, text
from postroad.campaigns.sqlite import ground
from postroad.campaigns.sqlite.db import Db
from postroad.model.campaign import (
    Campaign,
    CampaignState,
    Counts,
    Job,
    Pulse,
    Result,
    Row,
    RowState,
    Verb,
)
from postroad.model.states import NEVER


def renew(db: Db, owner: int, lease_ms: int, jobs: Sequence[int]) -> list[Pulse]:
    """An owner is still here."""
    db.run("renew", owner, db.now_ms + lease_ms, text(jobs))
    rows = db.all("pulses", owner, db.now_ms, text(jobs))
    return [Pulse(job, CampaignState(state), *rest) for job, state, *rest in rows]


def enqueue(db: Db, owner: int, job: Job, limit: int) -> int:
    """Copy a slice of unsent recipients into the ops of a job."""
    place = db.one("mine", job.id, owner, job.epoch, db.now_ms)
    if place is None:
        return 0
    found = db.all("enqueue", job.campaign, job.id, place[0], limit)
    if found:
        db.run("enqueued", job.campaign, max(n for (n,) in found))
        db.run("sending", job.id)
    return len(found)


def queued(db: Db, job: Job, after: int, limit: int) -> list[Row]:
    """Those of a job that wait."""
    return [Row(*row) for row in db.all("queued", job.id, after, limit)]


def intend(db: Db, owner: int, job: Job, ns: Sequence[int]) -> dict[int, int]:
    """Note that these are about to be sent."""
    if db.one("mine", job.id, owner, job.epoch, db.now_ms) is None:
        return {}
    tries = ((n, db.one("intend", job.campaign, n, job.id, db.now_ms)) for n in ns)
    return {n: row[0] for n, row in tries if row}


def record(db: Db, campaign: int, results: Sequence[Result]) -> Counts:
    """What calls gave."""
    change = {"sent": 0, "failed": 0, "uncertain": 0, "unsent": 0}
    place = NEVER
    for result in results:
        was = _was(db, campaign, result)
        if not was or was == result.state:
            continue
        db.run("result", campaign, *_values(result))
        change[was] -= 1
        change[result.state] += 1
        if result.state == RowState.unsent:
            place = min(place, result.n - 1)
    db.run("add", campaign, change["sent"], change["failed"], change["uncertain"], 0, place)
    row = db.one("campaign_by_id", campaign)
    return read_campaign(row).counts if row else Counts()


def _was(db: Db, campaign: int, result: Result) -> str:
    """The state that a result is about; empty when it is not to change anything."""
    if result.state == RowState.unsent:
        if db.changed("op_back", campaign, result.n, result.tries):
            return ""
    elif db.changed("op_gone", campaign, result.n, result.tries):
        return "unsent"
    row = db.one("message", campaign, result.n)
    settles = row is not None and row[0] == "uncertain" and row[1] == result.tries
    return "uncertain" if settles else ""


def _values(result: Result) -> tuple[int | str, ...]:
    unsent = result.state == RowState.unsent
    return (
        result.n,
        result.state,
        result.tries,
        result.provider_id,
        result.code,
        result.sub_type,
        0 if unsent else result.started_at_ms,
        0 if unsent else result.answered_at_ms,
    )


def reap(db: Db, heir: int) -> int:
    """Free the jobs of owners that were not heard from."""
    lost = db.all("lost_jobs", db.now_ms, heir)
    for job, campaign in lost:
        begun = db.all("lost_ops", job)
        if (db.one("repeatable", campaign) or (0,))[0]:
            for n, tries, _ in begun:
                db.run("op_back", campaign, n, tries)
        else:
            results = [
                Result(n, tries, RowState.uncertain, sub_type="lost", started_at_ms=at)
                for n, tries, at in begun
            ]
            _ = record(db, campaign, results)  # its counts are in the store
        db.run("reap", job)
    return len(lost)


def log(db: Db) -> list[str]:
    """Finalise campaigns whose jobs are over."""
    return [name for row in db.all("over") if (name := _finalise(db, *row))]


def _finalise(db: Db, campaign: int, name: str, state: str, *counted: int) -> str:
    exact = read_exact(db.all("exact", campaign))
    if counted != (exact.total, exact.sent, exact.failed, exact.uncertain, exact.undelivered):
        return name
    db.run("leftover_tries", campaign)
    db.run("leftovers", campaign)
    row = db.one("campaign_by_id", campaign)
    if row is None:
        return name
    found: Campaign = read_campaign(row)
    if state == CampaignState.running and exact.unsent:
        db.run("move_jobs", campaign, "READY", '["SENT", "STOPPED"]')
        db.run("enqueued", campaign, 0)
    elif state == CampaignState.running:
        _ = ground.move(db, found, Verb.finish, "", 0)  # False: somebody else moved it meanwhile
    else:
        db.run("move_jobs", campaign, "LOGGED", '["SENT", "STOPPED"]')
    return ""
