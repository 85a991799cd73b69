"""Replays: slices that send again and move on in one transaction."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from postroad.model.dead import DeadFilter, ReplayMode
from postroad.model.errors import StoreUnavailable
from postroad.model.replay import (
    PairState,
    Replayed,
    ReplayJob,
    ReplayPair,
    ReplaySlice,
    SortedPairs,
    sort_pairs,
)
from postroad.model.states import NEVER
from postroad.stores.postgres.base import PostgresBase, StoreAnswer, decoder
from postroad.stores.postgres.connections import QUERIES, Raw, StoreConnection
from postroad.stores.postgres.deadset import CHOSEN, choice_values
from postroad.stores.postgres.inbox import AcceptBatch
from postroad.stores.replays import LABEL, ReplayTables, insert_values, lock_values, note_values

LOST: Final = Replayed(lost=True)
ANSWER: Final = decoder(StoreAnswer)
Answers = list[str]
"""What the store's functions answered: whom to wake after the commit."""
Work = Callable[[Raw, Answers], Awaitable[Replayed]]


class PostgresReplays(ReplayTables, PostgresBase):
    """Stores replays and does their slices, on a connection of its own: claims use `side`."""

    _replay_line: StoreConnection | None = None

    def hear_replays(self, call: Callable[[], None]) -> None:
        """Call it when replays may have work, in any process."""
        self.hear_own("replays", call)

    async def ring_replays(self) -> None:
        """Wake those who work at replays, in any process."""
        await self.ring_own("replays")

    async def replay_add(self, job: ReplayJob, most: int) -> bool:
        """Store a new replay. Those of a tenant are counted and stored one by one."""

        async def inside(raw: Raw) -> bool:
            await raw.execute(QUERIES["replays_alone"], job.tenant)
            values = insert_values(job, most)
            return await raw.fetchval(QUERIES["replay_insert"], *values) is not None

        added = await self._replays().together(LABEL, inside)
        await self.ring_replays()
        return added

    async def pair_states(self, pairs: Sequence[ReplayPair]) -> list[PairState]:
        """What there is of each event for its endpoint."""
        rows = await self._replays().rows(LABEL, "event_pairs", _columns(pairs))
        return [PairState(*row) for row in rows]

    async def replay_failed(self, step: ReplaySlice, count: int) -> Replayed:
        """Revive dead messages."""

        async def work(raw: Raw, answers: Answers) -> Replayed:
            if await raw.fetchval(QUERIES["replay_lock"], *lock_values(step)) is None:
                return LOST
            gone = await _revive(raw, step, step.job.dead, count, answers)
            return await _noted(raw, step, Replayed(replayed=gone, ended=gone < count))

        return await self._slice(work)

    async def replay_events(self, step: ReplaySlice) -> Replayed:
        """Send events again. As in a publish, the set of endpoints is locked first, shared."""

        async def work(raw: Raw, answers: Answers) -> Replayed:
            await raw.execute(QUERIES["replays_share"], step.job.tenant)
            if await raw.fetchval(QUERIES["replay_lock"], *lock_values(step)) is None:
                return LOST
            version = await raw.fetchval(QUERIES["set_version"], step.job.tenant)
            if step.endpoints_version != (version or 0):
                return Replayed(moved=True)
            rows = await raw.fetch(QUERIES["event_pairs"], *_columns(step.pairs))
            found = sort_pairs(step, [PairState(*row) for row in rows])
            await _send(raw, step, found, answers)
            done = Replayed(replayed=found.count, waiting=found.waiting, ended=step.ended)
            return await _noted(raw, step, done)

        return await self._slice(work)

    async def _slice(self, work: Work) -> Replayed:
        """Do a slice in one transaction, then wake whom it concerns."""
        answers: Answers = []

        async def inside(raw: Raw) -> Replayed:
            answers.clear()  # those of a transaction that was rolled back
            return await work(raw, answers)

        done = await self._replays().together(LABEL, inside)
        for text in answers:
            _ = self._read_answer(text, ANSWER)  # it rings
        return done

    def _replays(self) -> StoreConnection:
        self._check_open()
        if self._replay_line is None:
            self._replay_line = self.own_line(LABEL)
        return self._replay_line


def _columns(pairs: Sequence[ReplayPair]) -> tuple[list[int], ...]:
    return (
        [pair.event for pair in pairs],
        [pair.first for pair in pairs],
        [pair.last for pair in pairs],
        [pair.target.queue for pair in pairs],
    )


async def _send(raw: Raw, step: ReplaySlice, found: SortedPairs, answers: Answers) -> None:
    if found.dead:
        which = DeadFilter(step.job.tenant, ids=found.dead)
        _ = await _revive(raw, step, which, NEVER, answers)  # all, or it raises
    if not found.drafts:
        return
    answers.append(await raw.fetchval(QUERIES["accept"], *AcceptBatch(found.drafts).columns()))
    made = zip(*[(pair.event, pair.number, pair.target.queue) for pair in found.made], strict=True)
    await raw.execute(QUERIES["event_messages_insert"], *map(list, made))


async def _revive(
    raw: Raw, step: ReplaySlice, which: DeadFilter, count: int, answers: Answers
) -> int:
    values = choice_values(which, count)
    once = step.job.spec.mode is ReplayMode.once
    text: str = await raw.fetchval(QUERIES["replay"], *values, once, False)
    said = CHOSEN.decode(text)
    if said.refused:  # somebody else has replayed or purged it: the slice is done again
        raise StoreUnavailable("a dead message of a replay was changed meanwhile")
    answers.append(text)
    return said.count


async def _noted(raw: Raw, step: ReplaySlice, done: Replayed) -> Replayed:
    await raw.execute(QUERIES["replay_note"], *note_values(step, done))
    return done
