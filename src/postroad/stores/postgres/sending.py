"""Sending inside the caller's own transaction: into the append-only `arrival` table."""

from collections.abc import Sequence
from typing import Any, Final

from postroad.model.blobs import BlobUse
from postroad.model.entities import Accepted, Draft, Queue, QueueSpec, digest_of
from postroad.model.errors import QueueGone
from postroad.model.unused import GONE
from postroad.stores.blobs import BlobTable
from postroad.stores.postgres.callers import CallerStatement
from postroad.stores.postgres.inbox import PostgresInbox

ARRIVE: Final = CallerStatement(
    "arrive",
    (
        *("bigint[]", "bigint[]", "bigint[]", "int[]", "int[]", "bigint[]", "bigint[]", "bigint[]"),
        *("text[]", "text[]", "bytea[]", "bytea[]", "bytea[]", "boolean"),
    ),
)


def columns(drafts: Sequence[Draft]) -> tuple[list[Any], ...]:
    """Drafts as the columns of `arrival`."""
    return (
        [d.id for d in drafts],
        [d.queue for d in drafts],
        [d.lane for d in drafts],
        [d.order_group for d in drafts],
        [d.priority for d in drafts],
        [d.accepted_at_ms for d in drafts],
        [d.due_ms for d in drafts],
        [d.expires_at_ms for d in drafts],
        [d.order_key for d in drafts],
        [d.key for d in drafts],
        [digest_of(d) if d.key else b"" for d in drafts],
        [d.headers for d in drafts],
        [d.body for d in drafts],
    )


async def insert_arrivals(connection: object, drafts: Sequence[Draft], *, sure: bool) -> bool:
    """Send through the caller's connection. False: a queue is gone, or newer than what its
    transaction sees, and nothing was stored; `sure` does not ask."""
    return await ARRIVE.run(connection, (*columns(drafts), sure))


class PostgresSending(PostgresInbox):
    """The caller's transactions on the road's database."""

    async def queue_in(self, connection: object, spec: QueueSpec) -> Queue:
        """The queue of that name, made when it is new: not through the caller's `connection`, so
        that a long transaction blocks nobody who sends to it. It stays after a rollback."""
        del connection
        (queue,) = await self.open_queues([spec])
        return queue

    async def send_in(self, connection: object, drafts: Sequence[Draft]) -> list[Accepted]:
        """Store them if the caller's transaction commits. Whether a key was used before is seen
        only then: a duplicate goes no further."""
        self._check_open()
        if not await insert_arrivals(connection, drafts, sure=False):
            # From now on those that are there stay until the caller's transaction ends.
            queues = sorted({draft.queue for draft in drafts})
            if not await self._one(self._side, "queues", "are_queues", queues):
                raise QueueGone(GONE)
            _ = await insert_arrivals(connection, drafts, sure=True)  # it does not ask again
        return [Accepted(draft.id) for draft in drafts]


class PostgresBlobs(BlobTable):
    """Contents that are stored once."""

    async def hold_in(
        self,
        connection: object,  # noqa: ARG002 - see below
        tenant: str,
        uses: Sequence[BlobUse],
        now_ms: int,
    ) -> bool:
        """Note which contents messages of the caller's transaction use: at once, since a removal
        does not see that transaction. Without a commit a sweep forgets it."""
        return await self.blob_use(tenant, uses, now_ms)
