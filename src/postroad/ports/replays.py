"""What replays need of a store."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from postroad.model.event import EventRow
from postroad.model.replay import (
    PairState,
    Replayed,
    ReplayJob,
    ReplayPair,
    ReplaySlice,
    ReplayState,
)


@runtime_checkable
class ReplayStore(Protocol):
    """A store with replays. A road on RabbitMQ has none."""

    async def replay_add(self, job: ReplayJob, most: int) -> bool:
        """Store a new replay and wake those who work at replays, unless the tenant has as many that
        have not ended: then False."""

    async def replay_page(
        self, tenant: str, number: int, before: int, limit: int
    ) -> list[ReplayJob]:
        """List replays of a tenant, the newest first, from before one on; `number` names one, 0
        all."""

    async def replays_running(self) -> list[ReplayJob]:
        """List the oldest replays that have work."""

    async def replay_turn(
        self, tenant: str, number: int, state: ReplayState, reason: str, ended_at_ms: int
    ) -> bool:
        """Change the state of a replay; False when it has ended. Those who work at replays are
        woken."""

    async def replays_end(self, tenant: str, queue: str, reason: str, ended_at_ms: int) -> None:
        """End the replays of a queue that have not ended: the queue is going."""

    async def events_from(
        self, tenant: str, span: tuple[int, int], limit: int, *, bodies: bool
    ) -> list[EventRow]:
        """Read a tenant's events after and before these ids, the oldest first."""

    async def pair_states(self, pairs: Sequence[ReplayPair]) -> list[PairState]:
        """Tell what there is of each event for its endpoint."""

    async def replay_failed(self, step: ReplaySlice, count: int) -> Replayed:
        """Revive up to so many dead messages of a replay and note it, in one transaction."""

    async def replay_events(self, step: ReplaySlice) -> Replayed:
        """Send the events of a slice again and move the cursor, in one transaction."""

    def hear_replays(self, call: Callable[[], None]) -> None:
        """Call it when replays may have work, here or in another process."""
