"""Replays as rows: what both databases do alike."""

from abc import abstractmethod
from typing import Final

import msgspec

from postroad.model.event import EventRow
from postroad.model.replay import (
    LEASE_MS,
    Replayed,
    ReplayJob,
    ReplaySlice,
    ReplaySpec,
    ReplayState,
    next_at_ms,
)
from postroad.stores.statements import Row, Statements, Value

SPEC: Final = msgspec.json.Decoder(ReplaySpec)
LABEL: Final = "replays"


class ReplayTables(Statements):
    """Stores replays, and reads the events that they send again."""

    async def replay_page(
        self, tenant: str, number: int, before: int, limit: int
    ) -> list[ReplayJob]:
        """Replays of a tenant, the newest first."""
        rows = await self.select(LABEL, "replay_page", tenant, number, before, limit)
        return [read_replay(row) for row in rows]

    async def replays_running(self) -> list[ReplayJob]:
        """The oldest replays that have work."""
        return [read_replay(row) for row in await self.select(LABEL, "replays_running")]

    async def replay_turn(
        self, tenant: str, number: int, state: ReplayState, reason: str, ended_at_ms: int
    ) -> bool:
        """Change the state of a replay that has not ended."""
        values = (tenant, number, state.value, reason, ended_at_ms)
        done = await self.changes(LABEL, "replay_turn", *values)
        await self.ring_replays()
        return done

    async def replays_end(self, tenant: str, queue: str, reason: str, ended_at_ms: int) -> None:
        """End the replays of a queue that have not ended."""
        await self.execute(LABEL, "replays_end", tenant, queue, reason, ended_at_ms)

    async def events_from(
        self, tenant: str, span: tuple[int, int], limit: int, *, bodies: bool
    ) -> list[EventRow]:
        """A tenant's events, the oldest first."""
        rows = await self.select(LABEL, "events_from", tenant, *span, limit, bodies)
        return [EventRow(*row) for row in rows]

    @abstractmethod
    async def ring_replays(self) -> None:
        """Wake those who work at replays."""


def insert_values(job: ReplayJob, most: int) -> tuple[Value, ...]:
    """A new replay, and how many of its tenant may be open."""
    about = (job.id, job.tenant, job.queue, msgspec.json.encode(job.spec), job.state.value)
    return (*about, job.asked_at_ms, job.cursor, job.total, most)


def read_replay(row: Row) -> ReplayJob:
    """A replay from its row."""
    number, tenant, queue, spec, state, *rest = row
    return ReplayJob(number, tenant, queue, SPEC.decode(spec), ReplayState(state), *rest)


def lock_values(step: ReplaySlice) -> tuple[Value, ...]:
    """How a replay must stand for a slice to be done."""
    job = step.job
    return (job.id, job.cursor, job.replayed, step.owner, step.now_ms)


def note_values(step: ReplaySlice, done: Replayed) -> tuple[Value, ...]:
    """How a replay stands after a slice."""
    next_ms = next_at_ms(step, done.replayed)
    state = ReplayState.done if done.ended else ReplayState.running
    place = (step.job.id, step.cursor, done.replayed, done.waiting)
    lease = (step.owner, next_ms, next_ms + LEASE_MS)
    return (*place, *lease, state.value, step.now_ms if done.ended else 0)
