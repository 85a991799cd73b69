"""Batches: members are counted by the records that end them, and what follows is stored by the
transaction that ends a batch."""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import field

from postroad.model.batch import BatchPlan, HeldDraft
from postroad.model.errors import StoreError
from postroad.model.states import NEVER
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.batches import BatchTables
from postroad.stores.postgres.base import PostgresBase, StoreAnswer, decoder, literal
from postroad.stores.postgres.connections import ANSWER_S, QUERIES, Raw
from postroad.stores.postgres.inbox import TOOK, AcceptBatch

CLOSE: Final = "end batches"
RETRY_S: Final = 1.0
WALK_EVERY_S: Final = 600.0
"""All open batches are asked about no more often than this, unless a process has died."""


class Ending(StoreAnswer, frozen=True):
    """What ended messages, and the batches whose members they were."""

    batches: list[int] = field(default_factory=list)


class Closed(StoreAnswer, frozen=True):
    """Which batches ended, which are to be asked next, and after which one to go on (0: none)."""

    ended: list[int] = field(default_factory=list)
    next: list[int] = field(default_factory=list)
    after: int = 0


CLOSED: Final = decoder(Closed)


class PostgresBatches(BatchTables, PostgresBase):
    """Stores batches, and ends those whose members have all ended. A process asks after its own
    commits; what one that was killed has left undone, the janitors of the others do."""

    def __init__(self, dsn: str, clock: Clock, log: Log | None = None) -> None:
        super().__init__(dsn, clock, log)
        self._line = self.own_line("batches")
        self._touched: set[int] = set()
        self._walk: int | None = None
        """After which of all open batches to go on, while all are to be asked."""
        self._walk_at_s = 0.0
        self._closing: asyncio.Task[None] | None = None
        self._leaving = self._away = False

    async def batch_put(self, plan: BatchPlan) -> None:
        """Store batches, members, what follows, and the messages that are sent now."""
        self._check_open()
        values = (msgspec.json.encode(plan.rows).decode(), *_members(plan), *_held(plan.held))
        values = (*values, list(plan.queues))
        accepted = AcceptBatch(plan.drafts).columns() if plan.drafts else ()

        async def work(raw: Raw) -> str:
            await raw.execute(QUERIES["put_batches"], *values)
            if not accepted:
                return ""
            text: str = await raw.fetchval(QUERIES["accept"], *accepted, timeout=ANSWER_S)
            return text

        if text := await self._line.together("batches", work):
            _ = self._read_answer(text, TOOK)  # members have no keys
        drafts = [*plan.drafts, *(held.draft for held in plan.held)]
        soonest = min((draft.expires_at_ms for draft in drafts), default=NEVER)
        if soonest < NEVER:
            self.bell.ring_expiry(soonest)
        self.batches_touched([row.id for row in plan.rows if not row.total])

    async def batch_seal(self, batches: Sequence[int]) -> int:
        """Say that all members of batches are stored; answers how many were still to be filled."""
        self._check_open()
        sealed = await self._line.rows("batches", "batch_seal", (list(batches),))
        self.batches_touched(batches)
        return len(sealed)

    # Ending

    def batches_touched(self, batches: Sequence[int]) -> None:
        """Ask soon whether these have ended."""
        if batches:
            self._touched.update(batches)
            self._close_soon()

    def batches_left(self) -> None:
        """Ask soon whether any has ended: it is not known which were touched."""
        self._walk = 0
        self._close_soon()

    def batches_looked_over(self) -> None:
        """Ask from time to time whether any has ended: the process that was to ask may be gone, and
        have owned no lane, so that nobody has noticed."""
        now_s = self.clock.steady_s()
        if self._walk is None and now_s >= self._walk_at_s:
            self._walk_at_s = now_s + WALK_EVERY_S
            self.batches_left()

    def _close_soon(self) -> None:
        if self._closing is None and self._open:
            self._closing = self.tasks.start(self._close(), CLOSE)

    async def _close(self) -> None:
        """Ask until nothing was touched meanwhile. While the store is away it is asked again."""
        try:
            while self._touched or self._walk is not None:
                asked, after = list(self._touched), self._walk
                self._touched, self._walk = set(), None
                try:
                    if asked:
                        await self._close_some(asked, 0)
                    if after is not None:
                        await self._close_some(None, after)
                    self._away = False
                    self.log.store_works(CLOSE)
                except StoreError as error:
                    self._away = True
                    if self._leaving:
                        return  # the janitor of another process asks
                    self._touched.update(asked)
                    self._walk = self._walk if after is None else 0
                    self.log.store_failed(CLOSE, error)
                    await self.clock.sleep(RETRY_S)
        finally:
            self._closing = None

    async def _close_some(self, batches: list[int] | None, after: int) -> None:
        text = await self._one(self._line, "batches", "close_batches", batches, after)
        answer = self._read_answer(text, CLOSED)
        self._touched.update(answer.next)
        if answer.after and self._walk is None:
            self._walk = answer.after
        self.bell.ring_awaited(answer.ended)
        while answer.ended and await self.move_arrivals():
            pass

    async def batches_asked(self) -> None:
        """Wait until what was touched is asked about, unless the store is away."""
        if self._closing is not None and not self._away:
            await asyncio.wait((self._closing,))

    async def close(self) -> None:
        """End what can be ended, then close."""
        self._leaving = True
        if self._closing is not None:
            await self._closing
        await super().close()


def _members(plan: BatchPlan) -> tuple[str, str]:
    return literal([one for one, _ in plan.members]), literal([batch for _, batch in plan.members])


def _held(held: Sequence[HeldDraft]) -> tuple[list[object], ...]:
    return (
        [h.draft.id for h in held],
        [h.batch for h in held],
        [h.role.value for h in held],
        [h.draft.queue for h in held],
        [h.draft.lane for h in held],
        [h.draft.order_group for h in held],
        [h.draft.priority for h in held],
        [h.draft.due_ms for h in held],
        [h.delay_ms for h in held],
        [h.draft.expires_at_ms for h in held],
        [h.draft.order_key for h in held],
        [h.draft.headers for h in held],
        [h.draft.body for h in held],
    )
