"""Batches: messages that are sent together, and what is sent when all of them have ended."""

from collections.abc import Container, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.engine.drafting import Send
from postroad.model.batch import (
    BatchGivenUp,
    BatchPlan,
    BatchState,
    BatchStatus,
    FollowRole,
    UnknownBatch,
    batch_number,
    batch_sentence,
    batch_text,
)
from postroad.model.durations import Duration
from postroad.model.entities import DEFAULT_TENANT, Draft
from postroad.model.errors import (
    NotCancelled,
    NotOnRabbitMQ,
    PostroadError,
    QueueGone,
)
from postroad.model.ids import to_text
from postroad.model.states import NEVER
from postroad.ports.batches import BatchStore
from postroad.ports.store import Store
from postroad.verbs.batch_planning import Batch, BatchPlanner, chain, plans_of, tenant_of
from postroad.verbs.bounding import bounded
from postroad.verbs.ending import until_ended, wait_s
from postroad.verbs.paging import check_page
from postroad.verbs.receipts import Receipt
from postroad.verbs.sending import AT_ONCE, GONE_MAX, Sending

CANCELLED_AT_ONCE: Final = 500
AGAIN_S: Final = 1.0
"""While a batch that is cancelled has not ended, its members are cancelled again so often: one may
have been on its way from the batch before it."""


class BatchPage(Struct, frozen=True):
    """A page of batches, the newest first. `after` is for the next page; "" is the end."""

    batches: tuple[BatchStatus, ...]
    after: str = ""


class BatchReceipt(Struct, frozen=True):
    """A receipt of a batch: all of it is stored. `messages` are those that were sent at once."""

    id: str
    total: int
    messages: list[Receipt]


class Prepared(Struct, frozen=True):
    """A batch that can be stored, in one transaction or several, and its receipt."""

    plans: list[BatchPlan]
    sends: list[Send]
    receipt: BatchReceipt


@bounded
class BatchVerbs:
    """Sends batches, and tells how they stand."""

    def __init__(self, store: Store, sending: Sending) -> None:
        self._store = store
        self._sending = sending

    async def batch(
        self,
        members: Sequence[Send | tuple[str, object] | Batch],
        *,
        then: Send | tuple[str, object] | Batch | None = None,
        on_failure: Send | tuple[str, object] | Batch | None = None,
        tenant: str | None = None,
    ) -> BatchReceipt:
        """Send messages, or nested batches, together. When all have ended, delivered or dead,
        `then` is sent, once; if some were not delivered and `on_failure` is given, that instead.
        Without a `tenant` it is that of the messages."""
        return await self.put(Batch(members, then, on_failure), tenant=tenant)

    async def chain(
        self,
        steps: Sequence[Send | tuple[str, object] | Batch],
        *,
        on_failure: Send | tuple[str, object] | Batch | None = None,
        tenant: str | None = None,
    ) -> BatchReceipt:
        """Send messages one after the other, each when the one before was delivered. After a
        failure `on_failure` is sent, and no further step. Without a `tenant` it is that of the
        messages."""
        return await self.put(chain(steps, on_failure), tenant=tenant)

    async def put(self, batch: Batch, *, tenant: str | None = None) -> BatchReceipt:
        """Store a batch of a tenant, else of that of its messages. Bad input in it stores nothing.
        One of up to 2,000 messages is stored in one transaction; a larger one in several, and it
        ends after the last."""
        store = self._stored()
        _ = self._sending.taking()  # raises NotOpen
        gone = 0
        while True:
            ready = await self._prepared(batch, tenant or tenant_of(batch))
            first, *rest = ready.plans
            try:
                await store.batch_put(first)
                break
            except QueueGone:  # one that was known here was deleted; nothing is stored
                gone += 1
                if gone > GONE_MAX:
                    raise
                self._sending.forget(ready.sends)
        for plan in rest:
            await store.batch_put(plan)
        filled = [row.id for row in first.rows if row.state is BatchState.filling]
        if rest and await store.batch_seal(filled) < len(filled):
            raise BatchGivenUp(
                f"{ready.receipt.id} was given up while it was stored, which took more than an "
                "hour: what is stored is sent, and nothing follows. Send what is missing as "
                "several batches"
            )
        return ready.receipt

    async def _prepared(self, batch: Batch, tenant: str) -> Prepared:
        planner = BatchPlanner(self._sending, tenant, self._store.clock.now_ms())
        number = planner.add(batch, 0, (0, None), ())
        drafted = [await self._draft(one.send, n) for n, one in enumerate(planner.planned)]
        drafts = [draft for _, draft in drafted]
        receipts = [
            Receipt(to_text(draft.id), one.send.queue)
            for one, draft in zip(planner.planned, drafts, strict=True)
            if not one.after
        ]
        told = BatchReceipt(batch_text(number), planner.rows[number].total, receipts)
        return Prepared(plans_of(planner, drafts), [send for send, _ in drafted], told)

    async def _draft(self, send: Send, number: int) -> tuple[Send, Draft]:
        """Draft a message; others have their turn between."""
        routed, drafted = await self._sending.draft_or_why(send)
        if isinstance(drafted, PostroadError):
            raise drafted
        if number % AT_ONCE == 0:
            await self._store.clock.sleep(0)
        return routed, drafted

    async def get(self, id: str, *, tenant: str = DEFAULT_TENANT) -> BatchStatus:  # noqa: A002
        """Read a batch and its counts."""
        found = await self._stored().batch_one(tenant, batch_number(id))
        if found is None:
            raise UnknownBatch(f"{id} is not known: check the id and its tenant")
        return self._told(found)

    async def wait(
        self,
        id: str,  # noqa: A002 - the word that receipts use
        *,
        timeout: Duration | None = None,  # noqa: ASYNC109 - its end is an answer, not an error
        tenant: str = DEFAULT_TENANT,
    ) -> BatchStatus:
        """Wait until a batch has ended, at most so long, and tell how it stands. Batches that
        follow it, as the steps of a chain do, are waited for too, and the answer is about the last
        one."""
        until_s = self._store.clock.steady_s() + wait_s(timeout)
        return await self._reached(id, until_s, tenant, tuple(FollowRole))

    async def _reached(
        self, text: str, until_s: float, tenant: str, ways: Container[str]
    ) -> BatchStatus:
        """Wait until a batch has ended, and those that follow it in one of these ways."""
        while True:
            look = partial(self.get, text, tenant=tenant)
            found = await until_ended(
                self._store, batch_number(text), until_s, look, lambda status: status.over
            )
            if not (found.over and found.next and found.sent in ways):
                return found
            text = found.next

    async def cancel(
        self,
        id: str,  # noqa: A002
        *,
        running: bool = False,
        wait: Duration = 10.0,
        tenant: str = DEFAULT_TENANT,
    ) -> BatchStatus:
        """Cancel the members of a batch, or of the step of a chain that it is at; wait so long for
        their ends, and tell how it stands. With `running` those that run are stopped. The batch has
        failed then: its `on_failure` is sent, and `then` is not. An `on_failure` that was sent, its
        own or that of a batch in it, is not cancelled."""
        clock, ways = self._store.clock, (FollowRole.then,)
        until_s = clock.steady_s() + wait_s(wait)
        now = await self._reached(id, clock.steady_s(), tenant, ways)
        if now.state is BatchState.filling:
            raise NotCancelled(f"{id} is still being stored: cancel it when all of it is there")
        while not now.over:
            await self._cancel_members(batch_number(now.id), tenant, running=running)
            now_s = clock.steady_s()
            now = await self._reached(now.id, min(until_s, now_s + AGAIN_S), tenant, ways)
            if now_s >= until_s:
                break
        return now

    async def _cancel_members(self, number: int, tenant: str, *, running: bool) -> None:
        store, after = self._stored(), 0
        await store.batch_stop(tenant, number)
        while members := await store.batch_members(number, after, CANCELLED_AT_ONCE):
            ids = [member for member, nested in members if not nested]
            # What became of them is counted by the batch.
            _ = await self._store.cancel(tenant, ids, running=running)
            for member in (member for member, nested in members if nested):
                await self._cancel_members(member, tenant, running=running)
            after = members[-1][0]

    async def list(
        self, *, limit: int = 100, after: str = "", tenant: str = DEFAULT_TENANT
    ) -> BatchPage:
        """A page of a tenant's batches, the newest first."""
        check_page(limit)
        before = batch_number(after) if after else NEVER
        found = await self._stored().batch_page(tenant, before, limit + 1)
        shown = tuple(map(self._told, found[:limit]))
        return BatchPage(shown, shown[-1].id if len(found) > limit else "")

    def _told(self, found: BatchStatus) -> BatchStatus:
        return replace(found, sentence=batch_sentence(found, self._store.clock.now_ms()))

    def _stored(self) -> BatchStore:
        if not isinstance(self._store, BatchStore):
            raise NotOnRabbitMQ(
                "batches: a broker does not count what has ended. Use PostgreSQL or SQLite"
            )
        return self._store
