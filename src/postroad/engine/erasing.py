"""Runs erasures: cancels what waits, then deletes slice by slice. The job is in the store, so that
any process can go on with it."""

from typing import Final

from postroad.model.control import CancelState, Cursor, MessageFilter
from postroad.model.ids import first_after
from postroad.model.privacy import CANCEL_STEP, ErasureJob
from postroad.ports.log import Log
from postroad.ports.store import Store

SLICE: Final = 500
"""Messages that one transaction cancels."""
WAIT_S, WAIT_MAX_S = 0.1, 5.0
"""Between two looks at tries in flight, or at a job that another process works at."""


async def run_erasures(store: Store, log: Log) -> None:
    """Work until no erasure is left, at all of them in turn."""
    wait_s = WAIT_S
    while jobs := await store.erasures_waiting():
        moved = [await _go_on(store, job, log) for job in jobs]
        wait_s = WAIT_S if any(moved) else min(2 * wait_s, WAIT_MAX_S)
        await store.clock.sleep(0 if any(moved) else wait_s)


async def _go_on(store: Store, job: ErasureJob, log: Log) -> bool:
    """Do the next part; False when it waits, or another process works at it."""
    if job.step == CANCEL_STEP:
        return await _cancel(store, job)
    said = await store.erase_slice(job.id)
    if said is not None and said.is_done:
        log.info("erased", erasure=job.id, tenant=said.tenant, rows=said.count)
    return said is not None and not said.waits_for


async def _cancel_named(store: Store, job: ErasureJob) -> int:
    """Cancel what names the recipient; answers how many tries are to be waited for."""
    subject, last, pending = job.subject, 0, 0
    while subject.recipient:
        ids = await store.sent_to(subject.tenant, subject.recipient, last, SLICE)
        if not ids:
            break
        last = ids[-1]
        old = [number for number in ids if number < first_after(job.asked_at_ms + 1)]
        states = await store.erasure_cancel_ids(subject.tenant, old)
        pending += sum(state is CancelState.pending for state in states.values())
        await store.clock.sleep(0)
    return pending


async def _cancel(store: Store, job: ErasureJob) -> bool:
    """Walk once over the messages that wait; False when others' tries are to be waited for."""
    subject = job.subject
    which = MessageFilter(subject.tenant, subject.recipient, accepted_before_ms=job.asked_at_ms + 1)
    after: Cursor | None = Cursor()
    pending = 0
    while after is not None:
        part = await store.erasure_cancel(which, after, SLICE)
        pending += sum(state is CancelState.pending for state in part.states.values())
        after = part.after
        await store.clock.sleep(0)
    pending += await _cancel_named(store, job)
    await store.erasure_waits(job.id, pending)
    await store.erasure_cancelled(job.id, store.clock.now_ms())
    return not pending
