"""How messages get in: queues made on first use, drafts accepted in one transaction."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, field

from postroad.model.entities import Accepted, Draft, Queue, QueueSpec, digest_of
from postroad.model.errors import NotOpen, StoreUnavailable
from postroad.model.replacing import KEPT_MS
from postroad.model.states import NEVER
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.bell import Ring
from postroad.stores.postgres.base import PostgresBase, StoreAnswer, decoder, literal
from postroad.stores.postgres.connections import ANSWER_S, QUERIES, Raw, StoreConnection
from postroad.stores.postgres.replacing import REPLACING, ReplacingBatch

T = TypeVar("T")
ROWS_MAX: Final = 2_000
"""The most drafts in one statement: claims of the same lanes wait for its commit."""
QUEUES: Final = msgspec.json.Decoder(list[Queue])
QUEUE: Final = msgspec.json.Decoder(Queue)


class Took(StoreAnswer, frozen=True):
    """`seen`: (place of a draft from 1, first message with its key, digest of that one's body)."""

    seen: list[tuple[int, int, str]] = field(default_factory=list)


TOOK: Final = decoder(Took)


class AcceptBatch:
    """Drafts as the columns that the store takes: each rung once, each key once."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self.drafts = drafts
        self._rungs: dict[tuple[int, int, int, int], int] = {}
        self._of = [self._rung(draft) for draft in drafts]
        self._due = [NEVER] * len(self._rungs)
        self._count = [0] * len(self._rungs)
        self._nth = [self._place(draft, of) for draft, of in zip(drafts, self._of, strict=True)]
        self._digests: dict[int, bytes] = {}
        self._first: dict[tuple[int, str], int] = {}
        self._repeats: list[int] = []
        for place, draft in enumerate(drafts):
            if draft.key:
                self._use(draft, place)

    def _rung(self, draft: Draft) -> int:
        priority = 0 if draft.order_group else draft.priority
        key = (draft.lane, draft.queue, priority, draft.order_group)
        return self._rungs.setdefault(key, len(self._rungs) + 1)

    def _place(self, draft: Draft, of: int) -> int:
        self._due[of - 1] = min(self._due[of - 1], draft.due_ms)
        if not draft.order_group:
            return 0
        self._count[of - 1] += 1
        return self._count[of - 1]

    def _use(self, draft: Draft, place: int) -> None:
        self._digests[place] = digest_of(draft)
        if self._first.setdefault((draft.queue, draft.key), place) != place:
            self._repeats.append(place)

    def columns(self) -> tuple[object, ...]:
        """The arguments of accept."""
        # What repeats a key of this very batch is not sent at all.
        skipped = set(self._repeats)
        sent = [n for n in range(len(self.drafts)) if n not in skipped]
        drafts = [self.drafts[n] for n in sent] if skipped else self.drafts
        self._sent = sent
        place_of = {n: place for place, n in enumerate(sent, start=1)}
        firsts = list(self._first.values())
        lanes, queues, priorities, order_groups = zip(*self._rungs, strict=True)
        ordered = any(order_groups)
        return (
            lanes,
            queues,
            priorities,
            order_groups,
            self._due,
            self._count,
            literal([d.id for d in drafts]),
            literal([self._of[n] for n in sent] if skipped else self._of),
            [self._nth[n] for n in sent] if ordered else [],
            literal(_once([d.due_ms for d in drafts])),
            literal(_once([d.accepted_at_ms for d in drafts])),
            _unless_all([d.expires_at_ms for d in drafts], NEVER),
            _unless_all([d.order_key for d in drafts], ""),
            _unless_all([d.headers for d in drafts], b""),
            [d.body for d in drafts],
            [place_of[n] for n in firsts],
            [self.drafts[n].key for n in firsts],
            [self._digests[n] for n in firsts],
            [self.drafts[n].key_ms or KEPT_MS for n in firsts],
        )

    def answers(self, seen: Sequence[tuple[int, int, str]]) -> list[Accepted]:
        """Each draft's own id, or that of the first use of its key."""
        answers = [Accepted(draft.id) for draft in self.drafts]
        winners: dict[tuple[int, str], tuple[int, bytes]] = {}
        for place, first, digest in seen:
            number = self._sent[place - 1]
            draft = self.drafts[number]
            winners[(draft.queue, draft.key)] = (first, bytes.fromhex(digest))
            answers[number] = self._repeated(number, first, bytes.fromhex(digest))
        for number in self._repeats:
            draft = self.drafts[number]
            key = (draft.queue, draft.key)
            own = self._first[key]
            first, winner = winners.get(key, (self.drafts[own].id, self._digests[own]))
            answers[number] = self._repeated(number, first, winner)
        return answers

    def _repeated(self, number: int, first: int, digest: bytes) -> Accepted:
        same = self._digests[number] == digest
        return Accepted(first, duplicate=same, conflict=not same)


def _unless_all(column: list[T], usual: T) -> list[T]:
    """An empty column where all values are the usual one, which need not be sent."""
    return column if any(value != usual for value in column) else []


def _once(column: list[int]) -> list[int]:
    """A column of one value where all values are equal."""
    return column if any(value != column[0] for value in column) else column[:1]


class Handed(Struct):
    """Drafts of one caller that waits for their answers."""

    drafts: Sequence[Draft]
    answers: "asyncio.Future[list[Accepted]]"
    ordered: bool


class Gathering:
    """Gathers drafts that come while two accepting statements are under way, for the next one."""

    def __init__(
        self,
        lines: Sequence[StoreConnection],
        store: Callable[[StoreConnection, AcceptBatch], Awaitable[list[Accepted]]],
    ) -> None:
        self._idle = list(lines)
        self._store = store
        self._waiting: deque[Handed] = deque()
        self._ordered = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def put(self, drafts: Sequence[Draft]) -> list[Accepted]:
        """Hand drafts over; the answers come after the commit."""
        answers: asyncio.Future[list[Accepted]] = asyncio.get_running_loop().create_future()
        ordered = any(draft.order_group or draft.replace for draft in drafts)
        self._waiting.append(Handed(drafts, answers, ordered))
        self._start()
        return await answers

    async def drained(self) -> None:
        """Wait until all that was handed over is answered."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self) -> None:
        while self._idle and (batch := self._next()):
            line = self._idle.pop(0)
            task = asyncio.get_running_loop().create_task(self._run(line, batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _next(self) -> list[Handed]:
        """The drafts of the next callers. Only one batch with ordered messages is under way at a
        time: two could be committed in the wrong order."""
        batch: list[Handed] = []
        rows = 0
        while self._waiting:
            handed = self._waiting[0]
            full = batch and rows + len(handed.drafts) > ROWS_MAX
            if full or (handed.ordered and self._ordered):
                break
            batch.append(self._waiting.popleft())
            rows += len(handed.drafts)
        self._ordered += any(handed.ordered for handed in batch)
        return batch

    async def _run(self, line: StoreConnection, batch: list[Handed]) -> None:
        try:
            await self._together(line, batch)
        finally:
            self._ordered -= any(handed.ordered for handed in batch)
            self._idle.append(line)
            self._start()

    async def _together(self, line: StoreConnection, batch: list[Handed]) -> None:
        drafts = [draft for handed in batch for draft in handed.drafts]
        try:
            answers = await self._store(line, AcceptBatch(drafts))
        except (StoreUnavailable, NotOpen) as error:
            # Perhaps it was stored: only who sent it can say whether to send it again.
            for handed in batch:
                _fail(handed, error)
        except Exception as error:  # noqa: BLE001 - handed to those who wait
            if len(batch) == 1:
                _fail(batch[0], error)
                return
            for handed in batch:  # one of them is bad: the others must not suffer for it
                await self._together(line, [handed])
        else:
            start = 0
            for handed in batch:
                end = start + len(handed.drafts)
                if not handed.answers.done():
                    handed.answers.set_result(answers[start:end])
                start = end


def _fail(handed: Handed, error: Exception) -> None:
    if not handed.answers.done():
        handed.answers.set_exception(error)


class PostgresInbox(PostgresBase):
    """Opens queues and accepts drafts."""

    def __init__(self, dsn: str, clock: Clock, log: Log | None = None) -> None:
        super().__init__(dsn, clock, log)
        self._gathering = Gathering((self._accept, self._side), self._store)

    async def open_queues(self, specs: Sequence[QueueSpec]) -> list[Queue]:
        """The queues of these names, made where they are new."""
        rows = [
            {
                "tenant": spec.tenant,
                "name": spec.name,
                "policy": spec.policy,
                "lane_tenant": spec.lane.tenant,
                "transport": spec.lane.transport,
                "server": spec.lane.server,
                "credential": spec.lane.credential,
                "shards": spec.shards,
                "pool": spec.lane.pool,
            }
            for spec in specs
        ]
        text = await self._one(
            self._side, "queues", "open_queues", msgspec.json.encode(rows).decode()
        )
        return QUEUES.decode(text)

    async def find_queue(self, tenant: str, name: str) -> Queue | None:
        """The queue of that name."""
        text = await self._one(self._side, "queues", "find_queue", tenant, name)
        return QUEUE.decode(text) if text else None

    async def accept(self, drafts: Sequence[Draft]) -> list[Accepted]:
        """Store all drafts in one transaction."""
        if not drafts:
            return []
        answers = await self._gathering.put(drafts)
        soonest = min(draft.expires_at_ms for draft in drafts)
        if soonest < NEVER:
            self.bell.ring_expiry(soonest)
        return answers

    async def _store(self, line: StoreConnection, batch: AcceptBatch) -> list[Accepted]:
        if any(draft.replace for draft in batch.drafts):
            return await self._store_replacing(line, batch.drafts)
        text = await self._one(line, "accept", "accept", *batch.columns())
        return batch.answers(self._read_answer(text, TOOK).seen)

    async def _store_replacing(
        self, line: StoreConnection, drafts: Sequence[Draft]
    ) -> list[Accepted]:
        """Store drafts of which some replace earlier ones, in one transaction."""
        self._check_open()
        asked = ReplacingBatch(drafts)

        async def work(raw: Raw) -> tuple[Sequence[Ring], AcceptBatch, str]:
            said = await raw.fetchval(QUERIES["replace_keys"], *asked.columns(), timeout=ANSWER_S)
            replaced = REPLACING.decode(said)
            batch = AcceptBatch(asked.stored(replaced.said))
            text = await raw.fetchval(QUERIES["accept"], *batch.columns(), timeout=ANSWER_S)
            return replaced.rings, batch, text

        rings, batch, text = await line.together("accept", work)
        self.bell.ring(rings)  # not before the commit: who is rung for looks at once
        return asked.answers(batch.drafts, batch.answers(self._read_answer(text, TOOK).seen))

    async def close(self) -> None:
        """Finish what was handed over, then close."""
        await self._gathering.drained()
        await super().close()
