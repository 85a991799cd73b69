"""The SQLite store: each verb is one piece of work for the writer or the reader."""

from collections.abc import Sequence
from typing import Final

from postroad.model.batch import BatchPlan
from postroad.model.control import CancelSlice, CancelState, Cursor, MessageFilter
from postroad.model.entities import Accepted, Draft, Lane, Queue, QueueSpec
from postroad.model.record import (
    Claim,
    Collected,
    Look,
    Reading,
    Reaped,
    Record,
    Recorded,
    Release,
    Swept,
    View,
    Want,
    ends_of,
)
from postroad.model.states import NEVER
from postroad.ports.store import Levels, Names
from postroad.stores.audit import AuditTable
from postroad.stores.batches import BatchTables
from postroad.stores.blobs import BlobTable
from postroad.stores.private_headers import StoredHeaders
from postroad.stores.restoring import RestorationTable
from postroad.stores.rules import RuleTable
from postroad.stores.sqlite import (
    batches,
    claiming,
    collecting,
    control,
    inbox,
    leases,
    recording,
    replacing,
    upkeep,
)
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.bodies import SqliteBodies
from postroad.stores.sqlite.claiming import ClaimRequest
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.deadset import SqliteDeadSet
from postroad.stores.sqlite.endpoint_life import SqliteEndpointLife
from postroad.stores.sqlite.erasing import SqliteErasing
from postroad.stores.sqlite.events import SqliteEvents
from postroad.stores.sqlite.feeds import SqliteFeeds
from postroad.stores.sqlite.insight import SqliteInsight
from postroad.stores.sqlite.job_outputs import SqliteJobOutputs
from postroad.stores.sqlite.joining import SqliteJoining
from postroad.stores.sqlite.listing import SqliteListing
from postroad.stores.sqlite.mailboxes import SqliteMailboxes
from postroad.stores.sqlite.overview import SqliteOverview
from postroad.stores.sqlite.pacing import SqlitePacing
from postroad.stores.sqlite.recipients import SqliteRecipients
from postroad.stores.sqlite.replays import SqliteReplays
from postroad.stores.sqlite.rollups import SqliteRollups
from postroad.stores.sqlite.ticks import SqliteTicks
from postroad.stores.sqlite.usage import SqliteUsage
from postroad.stores.sqlite.webhooks import SqliteWebhooks
from postroad.stores.suppressions import SuppressionTable
from postroad.stores.tenants import TenantTable
from postroad.stores.tokens import TokenTable

RETAIN_SLICE: Final = 1_000


class SqliteInbox(SqliteBase):
    """Opens queues and accepts messages."""

    async def open_queues(self, specs: Sequence[QueueSpec]) -> list[Queue]:
        """The queues of these names, made where they are new."""
        return await self.write("queues", lambda db: [inbox.open_queue(db, spec) for spec in specs])

    async def find_queue(self, tenant: str, name: str) -> Queue | None:
        """The queue of that name."""
        return await self.read("queues", lambda db: inbox.find_queue(db, tenant, name))

    async def accept(self, drafts: Sequence[Draft]) -> list[Accepted]:
        """Store all in one transaction, then answer."""
        if any(draft.replace for draft in drafts):
            clock = self.clock  # asked once the writer is there: some may start before
            answers = await self.write(
                "accept", lambda db: replacing.accept(db, drafts, clock.now_ms()), durable=True
            )
        else:
            answers = await self.write("accept", lambda db: inbox.accept(db, drafts), durable=True)
        soonest = min((draft.expires_at_ms for draft in drafts), default=NEVER)
        if soonest < NEVER:
            self.bell.ring_expiry(soonest)
        return answers


class SqliteLeases(SqliteBase):
    """Owns lanes, reads their messages and records results."""

    async def claim(
        self, owner: int, levels: Levels, pools: Names, limit: int, without: Names = ()
    ) -> Claim:
        """Own lanes that are ready at these levels."""
        request = ClaimRequest(levels, pools, limit, frozenset(without), self.clock.now_ms())
        label = f"level {levels[0]}" if len(levels) == 1 else "safety poll"
        return await self.write(label, lambda db: claiming.claim(db, owner, request))

    async def look(self, looks: Sequence[Look]) -> list[View]:
        """The rungs of owned lanes that became ready after a time, or are named."""
        now_ms = self.clock.now_ms()
        return await self.read("look", lambda db: [leases.look(db, ask, now_ms) for ask in looks])

    async def fetch(self, wants: Sequence[Want]) -> list[Reading]:
        """Due messages of rungs, in order."""
        now_ms = self.clock.now_ms()
        return await self.read(
            "fetch", lambda db: [leases.fetch(db, want, now_ms) for want in wants]
        )

    async def mark(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Count starts before they are made."""
        return await self.write(
            "mark", lambda db: leases.mark(db, lane.id, lane.epoch, owner, ids), durable=True
        )

    async def unmark(self, ids: Sequence[int]) -> None:
        """Take back the counts of starts that ended without a lost lease."""
        await self.write("mark", lambda db: db.many("unmark", [(number,) for number in ids]))

    async def record(self, record: Record) -> Recorded:
        """Apply results in one transaction, fenced."""
        now_ms = self.clock.now_ms()
        recorded = await self.write("record", lambda db: recording.record(db, record, now_ms))
        if self.bell.awaits:
            self.bell.ring_awaited(ends_of(record.results))
        return recorded

    async def release(self, owner: int, lanes: Sequence[Release]) -> dict[int, int]:
        """Give lanes back; answers when each level of them is ready next."""
        now_ms = self.clock.now_ms()
        return await self.write("release", lambda db: leases.release(db, owner, lanes, now_ms))

    async def disown(self, owner: int, keep: Sequence[int]) -> None:
        """Give back all lanes but these."""
        await self.write("release", lambda db: leases.disown(db, owner, keep))

    async def beat(self, owner: int) -> bool:
        """Renew the heartbeat; False when this owner was declared dead."""
        now_ms = self.clock.now_ms()
        return await self.write("beat", lambda db: leases.beat(db, owner, now_ms))

    async def held(self, owner: int) -> set[tuple[int, int]]:
        """The lanes that are the owner's, with their epochs."""
        return await self.write("beat", lambda db: leases.held(db, owner))

    async def reap(self, dead_after_ms: int) -> Reaped:
        """Free the lanes of owners that were not heard from."""
        now_ms = self.clock.now_ms()
        return await self.write("reap", lambda db: control.reap(db, now_ms - dead_after_ms, now_ms))

    async def leave(self, owner: int) -> None:
        """Delete this owner. Engines have given their lanes back by now, so it hardly waits for a
        transaction that a caller left open: the next process that opens the file knows that this
        owner is gone."""
        self.bell.leave(owner)
        await self.write("leave", lambda db: leases.leave(db, owner), hasty=True)


class SqliteUpkeep(SqliteBase):
    """Expiry, retention and unused queues."""

    async def sweep(self, limit: int) -> Swept:
        """Move what has expired, or outlived a spell, to the dead set."""
        now_ms = self.clock.now_ms()
        return await self.write("sweep", lambda db: upkeep.sweep(db, now_ms, limit))

    async def retain(self, history_ms: int, dead_ms: int) -> int:
        """Delete a slice of finished work older than these."""
        now_ms = self.clock.now_ms()
        return await self.write(
            "retain", lambda db: upkeep.retain(db, now_ms, history_ms, dead_ms, RETAIN_SLICE)
        )

    async def collect(self, unused_ms: int) -> Collected:
        """Go on with the search for unused queues."""
        now_ms = self.clock.now_ms()
        return await self.write("retain", lambda db: collecting.collect(db, now_ms, unused_ms))


class SqliteBatches(BatchTables, SqliteBase):
    """Stores batches."""

    async def batch_put(self, plan: BatchPlan) -> None:
        """Store a batch with all that belongs to it."""
        now_ms = self.clock.now_ms()
        await self.write("batches", lambda db: batches.put(db, plan, now_ms), durable=True)
        drafts = [*plan.drafts, *(held.draft for held in plan.held)]
        soonest = min((draft.expires_at_ms for draft in drafts), default=NEVER)
        if soonest < NEVER:
            self.bell.ring_expiry(soonest)

    async def batch_seal(self, numbers: Sequence[int]) -> int:
        """Say that all members of batches are stored; answers how many were still to be filled."""
        now_ms = self.clock.now_ms()

        def work(db: Database) -> int:
            sealed = db.many_changed("batch_seal", [(batch,) for batch in numbers])
            for batch in numbers:
                batches.close(db, batch, now_ms)
            return sealed

        return await self.write("batches", work, durable=True)


class SqliteControl(SqliteBase):
    """Cancel, pause, resume, unblock."""

    async def cancel(
        self, tenant: str, ids: Sequence[int], *, running: bool = False
    ) -> dict[int, CancelState]:
        """Cancel what nobody owns; ask the owners of the rest."""
        now_ms = self.clock.now_ms()
        states = await self.write(
            "cancel",
            lambda db: {n: control.cancel(db, tenant, n, now_ms, running=running) for n in ids},
            durable=True,
        )
        self.bell.ring_awaited(ids)
        return states

    async def settle(self, tenant: str, number: int, *, sent: bool) -> bool:
        """Settle an uncertain message: it is delivered, or goes back to its rung."""
        now_ms = self.clock.now_ms()
        settled = await self.write(
            "cancel",
            lambda db: control.settle(db, tenant, number, now_ms, sent=sent),
            durable=True,
        )
        self.bell.ring_awaited([number])
        return settled

    async def withdraw(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Cancel messages of a lane for its owner."""
        now_ms = self.clock.now_ms()
        done = await self.write(
            "cancel", lambda db: control.withdraw(db, owner, lane, ids, now_ms), durable=True
        )
        self.bell.ring_awaited(ids)
        return done

    async def cancel_some(self, which: MessageFilter, after: Cursor, limit: int) -> CancelSlice:
        """Cancel the next messages of a walk, or ask their owners to."""
        now_ms = self.clock.now_ms()
        some = await self.write(
            "cancel", lambda db: control.cancel_some(db, which, after, limit, now_ms), durable=True
        )
        self.bell.ring_awaited(some.states)
        return some

    async def pause_queue(self, queue: int, *, paused: bool) -> None:
        """Pause or resume a queue."""
        now_ms = self.clock.now_ms()
        await self.write(
            "control",
            lambda db: control.pause_queue(db, queue, now_ms, paused=paused),
            durable=True,
        )

    async def unblock_queue(self, queue: int) -> None:
        """Lift a queue's block, also one that disabled it."""
        await self.write("control", lambda db: control.unblock_queue(db, queue))

    async def pause_lane(self, lane: int, *, paused: bool) -> None:
        """Pause or resume a lane."""
        now_ms = self.clock.now_ms()
        await self.write(
            "control", lambda db: control.pause_lane(db, lane, now_ms, paused=paused), durable=True
        )

    async def hold_lane(self, lane: int, until_ms: int, reason: str) -> None:
        """Hold a lane until a time; with 0 close a circuit whose time is over."""
        now_ms = self.clock.now_ms()
        await self.write(
            "control", lambda db: control.hold_lane(db, lane, until_ms, reason, now_ms)
        )

    async def unblock_lane(self, lane: int) -> None:
        """Close a lane's circuit, and lift its queues' `unreachable` blocks."""
        await self.write("control", lambda db: control.unblock_lane(db, lane))


class SqliteStore(
    SqliteInbox,
    SqliteLeases,
    SqliteUpkeep,
    SqliteControl,
    SqliteDeadSet,
    SqliteInsight,
    SqliteOverview,
    SqliteRollups,
    SqliteListing,
    SqliteBodies,
    SqliteJobOutputs,
    SqliteRecipients,
    SqlitePacing,
    SqliteTicks,
    SqliteBatches,
    AuditTable,
    SqliteErasing,
    StoredHeaders,
    SqliteMailboxes,
    RuleTable,
    BlobTable,
    TokenTable,
    TenantTable,
    RestorationTable,
    SuppressionTable,
    SqliteUsage,
    SqliteWebhooks,
    SqliteEndpointLife,
    SqliteEvents,
    SqliteFeeds,
    SqliteReplays,
    SqliteJoining,
):
    """One file, one process."""

    erasure_cancel_ids = SqliteControl.cancel
