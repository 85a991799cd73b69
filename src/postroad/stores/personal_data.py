"""Which tables hold something of a tenant or a recipient, and how it is erased: the one list for
both databases. A test fails for a table that is on neither list."""

from collections.abc import Generator
from typing import Any, Final

import msgspec
from msgspec import Struct

from postroad.model.audit import shown_text
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.ids import first_after
from postroad.model.privacy import CANCEL_STEP, ErasureJob
from postroad.model.rollup import NAME_MAX
from postroad.model.suppression import erased_form, list_address
from postroad.stores.statements import Value

WITH_MESSAGE: Final = ("attempt", "webhook_try", "message_recipient")
"""Tables that are erased with a message, before it."""
SLICE: Final = 1_000
"""Rows that one transaction looks at: other writers go between two of them."""
QUEUES_SLICE: Final = 100
BLOBS_SLICE: Final = 100
"""Each may have megabytes."""
EVENT_TABLES: Final = (
    *("event_key", "event_message", "event", "batch_member", "batch_count", "batch"),
    "tick",
)
LANES_WAIT_MS: Final = 60_000
"""How long queues are waited for whose lanes are in use; idle ones are given back in ten s."""


class ErasureQuery(Struct, frozen=True):
    """A statement that the store is to run. The answer is its rows if its name ends in `_find`,
    else how many rows it changed."""

    statement: str
    values: tuple[Value, ...]


class Erased(Struct, frozen=True):
    """What one slice of a step did. `after` is where the step goes on, None when it is over."""

    erased: dict[str, int]
    after: int | None = None
    waits_for: int = 0
    kept_queues: int | None = None


Slice = Generator[ErasureQuery, Any, Erased]


def access(job: ErasureJob, now_ms: int) -> Slice:
    """Tokens and endpoints go first, so that nobody sends for the tenant; campaigns are stopped."""
    whose = (job.subject.tenant, job.subject.recipient)
    yield ErasureQuery("set_raise", (job.subject.tenant,))
    yield ErasureQuery("erase_endpoint_hours", whose)
    erased = {"endpoint": (yield ErasureQuery("erase_endpoint", whose))}
    erased["replay"] = yield ErasureQuery("erase_replay", whose)
    erased["schedule"] = yield ErasureQuery("erase_schedule", whose)
    held = yield ErasureQuery("erase_batch_held", whose)
    erased["batch_held"] = held + (yield ErasureQuery("erase_batch_named", whose))
    if job.subject.recipient:
        return Erased(erased)
    erased["token"] = yield ErasureQuery("erase_tokens", (job.subject.tenant,))
    yield ErasureQuery("erase_endpoint_rules", (job.subject.tenant,))
    erased["tenant"] = yield ErasureQuery("erase_tenant", (job.subject.tenant,))
    yield ErasureQuery("erase_stop_campaigns", (job.subject.tenant, now_ms))
    yield ErasureQuery("erase_stop_jobs", (job.subject.tenant,))
    return Erased(erased)


def messages(_job: ErasureJob, _now_ms: int) -> Slice:
    """Waiting messages are cancelled by the job itself, not here."""
    return Erased({}, after=0)
    yield


def history(job: ErasureJob, _now_ms: int) -> Slice:
    """Finished messages with their tries."""
    return (yield from _walk(job, "erase_history_find", (*WITH_MESSAGE, "history")))


def dead(job: ErasureJob, _now_ms: int) -> Slice:
    """Dead messages with their tries."""
    return (yield from _walk(job, "erase_dead_find", (*WITH_MESSAGE, "dead")))


def named(job: ErasureJob, _now_ms: int) -> Slice:
    """Finished messages that name the recipient, with all that is stored of them."""
    if not job.subject.recipient:
        return Erased({})
    whose = (job.subject.tenant, job.subject.recipient)
    find = "erase_named_find"
    ids, last = _found((yield ErasureQuery(find, (*whose, job.after, SLICE, _before(job)))))
    if not ids:
        return Erased({})
    # First: what only these messages use is known by their uses.
    erased = {"blob": (yield ErasureQuery("erase_blob_of", (_listed(ids), job.asked_at_ms)))}
    erased["blob_use"] = yield ErasureQuery("erase_blob_use_of", (_listed(ids),))
    erased["idempotency"] = yield ErasureQuery("erase_named_keys", (_listed(ids),))
    erased["kept_body"] = yield ErasureQuery("erase_named_bodies", (_listed(ids),))
    erased["job_output"] = yield ErasureQuery("erase_named_outputs", (_listed(ids),))
    for table in (*WITH_MESSAGE, "history", "dead"):
        erased[table] = yield ErasureQuery(f"erase_{table}", (_listed(ids),))
    return Erased(erased, last)


def broker(job: ErasureJob, _now_ms: int) -> Slice:
    """What is recorded about a broker's messages that are finished."""
    return (yield from _walk(job, "erase_broker_find", ("broker_message",)))


def _walk(job: ErasureJob, find: str, tables: tuple[str, ...]) -> Slice:
    """Look at the next rows in order of id, whosever they are; delete those that are meant."""
    whose = (job.subject.tenant, job.subject.recipient)
    ids, last = _found((yield ErasureQuery(find, (*whose, job.after, SLICE, _before(job)))))
    erased: dict[str, int] = {}
    for table in tables if ids else ():
        erased[table] = yield ErasureQuery(f"erase_{table}", (_listed(ids),))
    return Erased(erased, last)


def _found(rows: list[tuple[int | None, int]]) -> tuple[list[int], int | None]:
    """The ids that are meant, and the last one that was looked at; None when there was none."""
    ids = [number for number, _ in rows if number is not None]
    return ids, max((place for _, place in rows), default=None)


def keys(job: ErasureJob, _now_ms: int) -> Slice:
    """Idempotency keys, bodies of delivered messages, and what jobs gave."""
    whose = (job.subject.tenant, job.subject.recipient)
    count = yield ErasureQuery("erase_idempotency", (*whose, _before(job), SLICE))
    bodies = yield ErasureQuery("erase_kept_body", (*whose, _before(job), SLICE))
    given = yield ErasureQuery("erase_job_output", (*whose, _before(job), SLICE))
    erased = {"idempotency": count, "kept_body": bodies, "job_output": given}
    return Erased(erased, 0 if any(erased.values()) else None)


def events(job: ErasureJob, _now_ms: int) -> Slice:
    """Events of a tenant with their bodies, its batches, and when its timetables came. Events that
    one recipient got were sent to others too, and stay until their retention is over."""
    if job.subject.recipient:
        return Erased({})
    erased = {}
    for table in EVENT_TABLES:
        values = (job.subject.tenant, _before(job), SLICE)
        erased[table] = yield ErasureQuery(f"erase_{table}", values)
    return Erased(erased, 0 if any(erased.values()) else None)


def blobs(job: ErasureJob, _now_ms: int) -> Slice:
    """Contents of a tenant, once nothing of it is sent any more."""
    if job.subject.recipient:
        return Erased({})
    erased = {}
    for table in ("blob_use", "blob"):
        erased[table] = yield ErasureQuery(f"erase_{table}", (job.subject.tenant, BLOBS_SLICE))
    return Erased(erased, 0 if any(erased.values()) else None)


def campaigns(job: ErasureJob, now_ms: int) -> Slice:
    """All campaigns of a tenant, once no sender works at them; then its credentials."""
    tenant = job.subject.tenant
    if job.subject.recipient:
        return Erased({})
    ((busy,),) = yield ErasureQuery("erase_jobs_find", (tenant, now_ms))
    if busy:
        return Erased({}, 0, waits_for=busy)
    # Without its jobs nobody finalises a campaign whose rows are half erased.
    erased = {"job": (yield ErasureQuery("erase_job", (tenant,)))}
    for table in ("campaign_op", "campaign_message"):
        erased[table] = yield ErasureQuery(f"erase_{table}", (tenant, SLICE))
        if erased[table]:
            return Erased(erased, 0)
    for table in ("campaign_import", "campaign", "credential"):
        erased[table] = yield ErasureQuery(f"erase_{table}", (tenant,))
    return Erased(erased)


def recipients(job: ErasureJob, now_ms: int) -> Slice:
    """One recipient in all campaigns, and in their counts. A call that is under way is waited
    for."""
    if not job.subject.recipient:
        return Erased({})
    whose = (job.subject.tenant, job.subject.recipient)
    rows = yield ErasureQuery("erase_recipient_find", (*whose, job.after, now_ms))
    if not rows:
        return Erased({})
    ((campaign, n, busy),) = rows
    if busy:
        return Erased({}, job.after, waits_for=1)
    ops = yield ErasureQuery("erase_recipient_op", (campaign, n, now_ms))
    gone = yield ErasureQuery("erase_recipient", (campaign, n))
    # None: a call to it has begun just now.
    return Erased({"campaign_op": ops, "campaign_message": gone}, campaign if gone else job.after)


def suppressions(job: ErasureJob, _now_ms: int) -> Slice:
    """A tenant's suppression list; of one recipient the digest and the reasons stay."""
    tenant, recipient = job.subject.tenant, job.subject.recipient
    if not recipient:
        count = yield ErasureQuery("erase_suppression", (tenant, SLICE))
        return Erased({"suppression": count}, 0 if count else None)
    address = list_address(recipient)
    if not address:
        return Erased({})
    yield ErasureQuery("erase_suppression_digest", (tenant, address, erased_form(tenant, address)))
    count = yield ErasureQuery("erase_suppression_of", (tenant, address))
    return Erased({"suppression": count})


def reports(job: ErasureJob, _now_ms: int) -> Slice:
    """What was reported about messages."""
    tenant, recipient = job.subject.tenant, job.subject.recipient
    if recipient and not (address := list_address(recipient)):
        return Erased({})
    name, whom = ("erase_mail_report_one", (address,)) if recipient else ("erase_mail_report", ())
    count = yield ErasureQuery(name, (tenant, *whom, SLICE))
    return Erased({"mail_report": count}, 0 if count else None)


def mailboxes(job: ErasureJob, _now_ms: int) -> Slice:
    """Mailboxes with their letters."""
    whose = (job.subject.tenant, job.subject.recipient)
    letters = yield ErasureQuery("erase_letter", (*whose, SLICE))
    if letters:
        return Erased({"letter": letters}, 0)
    return Erased({"mailbox": (yield ErasureQuery("erase_mailbox", whose))})


def queues(job: ErasureJob, now_ms: int) -> Slice:
    """Queues that hold nothing any more, with their settings, limits and lanes. Those of handlers
    of the default tenant stay: their names are the program's. A queue that is in use again after a
    minute stays too, and is counted; so do all queues that messages in a broker may need."""
    whose = (job.subject.tenant, job.subject.recipient)
    if job.keeps_queues:
        ((left,),) = yield ErasureQuery("erase_queues_left_find", (*whose, DEFAULT_TENANT))
        return Erased({}, kept_queues=left)
    values = (*whose, job.after, QUEUES_SLICE, DEFAULT_TENANT)
    ids, last = _found((yield ErasureQuery("erase_queue_find", values)))
    gone = (yield ErasureQuery("erase_queue", (_listed(ids),))) if ids else 0
    if last is not None:
        return Erased({"queue": gone}, last)
    ((left,),) = yield ErasureQuery("erase_queues_left_find", (*whose, DEFAULT_TENANT))
    waits = left and now_ms < job.step_at_ms + LANES_WAIT_MS
    return Erased({}, 0 if waits else None, left if waits else 0, left)


def limits(job: ErasureJob, _now_ms: int) -> Slice:
    """Limits of a tenant's lanes, and its answer rules."""
    if job.subject.recipient:
        return Erased({})
    erased = {}
    for table in ("pace_count", "pace_share", "pace", "answer_rule", "rule_hit"):
        erased[table] = yield ErasureQuery(f"erase_{table}", (job.subject.tenant,))
    return Erased(erased)


def figures(job: ErasureJob, _now_ms: int) -> Slice:
    """Figures of a tenant, or (hourly) of one queue. Long names are cut there."""
    whose = (job.subject.tenant, job.subject.recipient[:NAME_MAX])
    count = yield ErasureQuery("erase_rollup", (*whose, SLICE))
    return Erased({"rollup": count}, 0 if count else None)


def audit(job: ErasureJob, _now_ms: int) -> Slice:
    """Lines of the audit log keep who, when and which verb, and lose what they name."""
    recipient = list_address(job.subject.recipient) or job.subject.recipient
    needle = msgspec.json.encode(shown_text(recipient)).decode()[1:-1] if recipient else ""
    values = (job.subject.tenant, needle, job.after, SLICE)
    ids, last = _found((yield ErasureQuery("erase_audit_find", values)))
    count = (yield ErasureQuery("erase_audit", (_listed(ids),))) if ids else 0
    return Erased({"audit": count}, last)


STEPS: Final = {
    "access": access,
    CANCEL_STEP: messages,
    "history": history,
    "dead": dead,
    "keys": keys,
    "events": events,
    "named": named,
    "broker": broker,
    "campaigns": campaigns,
    "blobs": blobs,
    "recipients": recipients,
    "suppressions": suppressions,
    "reports": reports,
    "mailboxes": mailboxes,
    "queues": queues,
    "limits": limits,
    "figures": figures,
    "audit": audit,
}
"""The steps of an erasure in their order; each is one or many transactions."""


def after_cancelling() -> str:
    """The step that follows when no message waits any more."""
    names = list(STEPS)
    return names[names.index(CANCEL_STEP) + 1]


def _listed(numbers: list[int]) -> str:
    """Numbers as one JSON value."""
    return msgspec.json.encode(numbers).decode()


def _before(job: ErasureJob) -> int:
    """A number above the ids of all messages that were sent before the job was asked for."""
    return first_after(job.asked_at_ms + 1)
