"""Jobs of senders and their operations: what each verb does inside its transaction."""

from collections.abc import Sequence

from postroad.model.campaign import (
    CallResult,
    Campaign,
    CampaignState,
    Counts,
    Job,
    Pulse,
    RowState,
    Verb,
)
from postroad.model.states import NEVER
from postroad.ports.campaigns import Intents
from postroad.stores.campaign_rows import read_campaign, read_exact, text
from postroad.stores.sqlite import campaign_recipients
from postroad.stores.sqlite.database import Database


def renew(db: Database, owner: int, lease_ms: int, jobs: Sequence[int], now_ms: int) -> list[Pulse]:
    """Renew an owner's leases; answers how its jobs stand."""
    db.run("jobs_renew", owner, now_ms + lease_ms, text(jobs))
    rows = db.all("jobs_pulse", owner, text(jobs))
    return [Pulse(job, CampaignState(state), *rest) for job, state, *rest in rows]


def enqueue(db: Database, owner: int, job: Job, limit: int, now_ms: int) -> int:
    """Copy a slice of unsent recipients into the operations of a job; answers how many."""
    place = db.number("job_mine", job.id, owner, job.epoch, now_ms)
    if place is None:
        return 0
    found = db.all("ops_enqueue", job.campaign, job.id, place, limit)
    if found:
        db.run("campaign_place", job.campaign, max(n for (n,) in found))
        db.run("job_sending", job.id)
    return len(found)


def intend(db: Database, owner: int, job: Job, ns: Sequence[int], now_ms: int) -> Intents:
    """Note that these are about to be sent, each with the number of its try; not those who are on
    a suppression list by now."""
    if db.one("job_mine", job.id, owner, job.epoch, now_ms) is None:
        return Intents({}, {})
    suppressed = _suppressed(db, job.campaign, ns)
    tries = (
        (n, db.number("op_intend", job.campaign, n, job.id, now_ms))
        for n in ns
        if n not in suppressed
    )
    return Intents({n: number for n, number in tries if number is not None}, suppressed)


def _suppressed(db: Database, campaign: int, ns: Sequence[int]) -> dict[int, str]:
    row = db.one("campaign_suppresses", campaign)
    if row is None:
        return {}
    numbers = {to: n for n, to in db.all("recipients_named", campaign, text(ns))}
    found = db.all("suppression_match", row[0], text([*numbers]))
    return {numbers[to]: reason for to, reason in found}


def record(db: Database, campaign: int, results: Sequence[CallResult]) -> Counts:
    """Write results of calls; answers the campaign's counts after them."""
    change: dict[str, int] = dict.fromkeys(RowState, 0)
    place, temporary = NEVER, 0
    for result in results:
        was = _was(db, campaign, result)
        if not was or was == result.state:
            continue
        db.run("recipient_result", campaign, *_values(result))
        change[was] -= 1
        change[result.state] += 1
        if result.state == RowState.unsent:
            place = min(place, result.n - 1)
        temporary += _temporary(result)
    final = (change[state] for state in (RowState.sent, RowState.failed, RowState.uncertain))
    db.run("campaign_add", campaign, *final, 0, change[RowState.suppressed], place, temporary)
    row = db.one("campaign_by_id", campaign)
    return read_campaign(row).counts if row else Counts()


def _was(db: Database, campaign: int, result: CallResult) -> str:
    """The state that a result replaces; empty when the result changes nothing."""
    if result.state == RowState.unsent:
        if db.changed("op_back", campaign, result.n, result.tries, result.due_ms):
            return ""
    elif db.changed("op_gone", campaign, result.n, result.tries):
        return "unsent"
    row = db.one("recipient_find", campaign, result.n)
    settles = row is not None and row[0] == "uncertain" and row[1] == result.tries
    return "uncertain" if settles else ""


def _values(result: CallResult) -> tuple[int | str, ...]:
    unsent = result.state == RowState.unsent
    return (
        result.n,
        result.state,
        result.tries,
        result.provider_id,
        result.code,
        result.sub_type,
        result.error,
        0 if unsent else result.started_at_ms,
        0 if unsent else result.answered_at_ms,
        _temporary(result),
    )


def _temporary(result: CallResult) -> int:
    """1 if it failed because its server said "later" until the last try."""
    return int(result.state == RowState.failed and result.due_ms > 0)


def release(db: Database, owner: int, job: Job, uncalled: Sequence[int], *, repeats: bool) -> None:
    """Give a job back; what is begun and has no result is in doubt, but for the uncalled ones."""
    if db.one("job_owned", job.id, owner, job.epoch) is None:
        return
    never = set(uncalled)
    _take_back(db, job.campaign, [one for one in db.all("ops_begun", job.id) if one[0] in never])
    _doubt(db, job.id, job.campaign, repeats=repeats)
    db.run("job_release", job.id)


def _doubt(db: Database, job: int, campaign: int, *, repeats: bool) -> None:
    """What is left begun of a job that nobody works on is uncertain, or queued again where
    recipients recognise a repeated call."""
    begun = db.all("ops_begun", job)
    if repeats:
        _take_back(db, campaign, begun)
        return
    results = [
        CallResult(n, tries, RowState.uncertain, sub_type="lost", started_at_ms=at)
        for n, tries, at in begun
    ]
    _ = record(db, campaign, results)  # its counts are in the store


def _take_back(db: Database, campaign: int, begun: Sequence[tuple[int, ...]]) -> None:
    for n, tries, _ in begun:
        db.run("op_back", campaign, n, tries, 0)


def reap(db: Database, only_owner: int, repeats: Sequence[str], now_ms: int) -> int:
    """Free the jobs of lost owners; answers how many. What they had begun is uncertain, or queued
    again on the channels where recipients recognise a repeated call."""
    channels = text(list(repeats))
    lost = db.all("jobs_lost", now_ms, only_owner)
    for job, campaign in lost:
        repeatable = bool(db.number("campaign_goes_by", campaign, channels))
        _doubt(db, job, campaign, repeats=repeatable)
        db.run("job_reap", job)
    return len(lost)


def log(db: Database, now_ms: int) -> list[str]:
    """Finalise campaigns whose jobs are over; answers the names of those whose counts do not add
    up."""
    return [row[1] for row in db.all("campaigns_over") if not _finalise(db, now_ms, *row)]


def _finalise(
    db: Database, now_ms: int, campaign: int, _name: str, state: str, *counted: int
) -> bool:
    exact = read_exact(db.all("campaign_exact", campaign))
    final = (exact.sent, exact.failed, exact.uncertain, exact.undelivered, exact.suppressed)
    if counted != (exact.total, *final):
        return False
    db.run("ops_tries_back", campaign)
    db.run("ops_clear", campaign)
    row = db.one("campaign_by_id", campaign)
    if row is None:
        return False
    found: Campaign = read_campaign(row)
    if state == CampaignState.running and exact.unsent:
        db.run("jobs_move", campaign, "READY", '["SENT", "STOPPED"]')
        db.run("campaign_place", campaign, 0)
    elif state == CampaignState.running:
        # False: somebody else moved it meanwhile.
        _ = campaign_recipients.move(db, found, Verb.finish, now_ms)
    else:
        db.run("jobs_move", campaign, "LOGGED", '["SENT", "STOPPED"]')
    return True
