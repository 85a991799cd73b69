"""Cancel, pause, resume, unblock."""

from collections.abc import Sequence
from typing import Final

from msgspec import field

from postroad.model.control import CancelSlice, CancelState, Cursor, MessageFilter
from postroad.model.entities import Lane
from postroad.stores.postgres.base import decoder
from postroad.stores.postgres.batches import Ending, PostgresBatches
from postroad.stores.postgres.leases import ANSWER


class Cancelling(Ending, frozen=True):
    """The state of each message that was to be cancelled; unknown ones are left out."""

    states: dict[int, CancelState] = field(default_factory=dict)


class Walked(Cancelling, frozen=True):
    """What a slice of a walk did, and where the next one begins."""

    after: Cursor | None = None


class SettleAnswer(Ending, frozen=True):
    """Whether there was something to settle."""

    settled: bool = False


class Withdrawn(Ending, frozen=True):
    """Whether the lane was still its owner's."""

    done: bool = False


WITHDRAWN: Final = decoder(Withdrawn)
CANCELLING: Final = decoder(Cancelling)
WALKED: Final = decoder(Walked)
SETTLED: Final = decoder(SettleAnswer)


class PostgresControl(PostgresBatches):
    """Cancel, pause, resume, unblock."""

    async def cancel(
        self, tenant: str, ids: Sequence[int], *, running: bool = False
    ) -> dict[int, CancelState]:
        """Cancel messages of free lanes; ask the owners of the others."""
        text = await self._one(self._side, "cancel", "cancel", tenant, list(ids), running)
        answer = self._read_answer(text, CANCELLING)
        self.batches_touched(answer.batches)
        self.bell.ring_awaited(ids)
        return {number: answer.states.get(number, CancelState.unknown) for number in ids}

    async def withdraw(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Take cancelled messages out of a lane, as its owner."""
        values = (owner, lane.id, lane.epoch, list(ids))
        text = await self._one(self._side, "cancel", "withdraw", *values)
        answer = self._read_answer(text, WITHDRAWN)
        self.batches_touched(answer.batches)
        self.bell.ring_awaited(ids)
        return answer.done

    async def settle(self, tenant: str, number: int, *, sent: bool) -> bool:
        """An uncertain message counts as delivered, or goes back to its rung."""
        text = await self._one(self._side, "cancel", "settle", tenant, number, sent)
        answer = self._read_answer(text, SETTLED)
        self.batches_touched(answer.batches)
        self.bell.ring_awaited([number])
        return answer.settled

    async def cancel_some(self, which: MessageFilter, after: Cursor, limit: int) -> CancelSlice:
        """Cancel the next slice of a queue, or ask the owners to."""
        meant = (which.tenant, which.queue, which.order_key, which.accepted_before_ms)
        place = (after.rung, after.place, after.id)
        text = await self._one(self._side, "cancel", "cancel_some", *meant, *place, limit)
        answer = self._read_answer(text, WALKED)
        self.batches_touched(answer.batches)
        self.bell.ring_awaited(answer.states)
        return CancelSlice(answer.states, answer.after)

    async def pause_queue(self, queue: int, *, paused: bool) -> None:
        """Pause or resume a queue."""
        await self._change("pause_queue", queue, paused)

    async def unblock_queue(self, queue: int) -> None:
        """Lift a queue's block, also one that disabled it."""
        await self._change("unblock_queue", queue)

    async def pause_lane(self, lane: int, *, paused: bool) -> None:
        """Pause or resume a lane."""
        await self._change("pause_lane", lane, paused)

    async def unblock_lane(self, lane: int) -> None:
        """Close a lane's circuit, and lift its queues' `unreachable` blocks."""
        await self._change("unblock_lane", lane)

    async def hold_lane(self, lane: int, until_ms: int, reason: str) -> None:
        """Hold a lane until a time; with 0 close a circuit whose time is over."""
        await self._change("hold_lane", lane, until_ms, reason)

    async def _change(self, query: str, *values: object) -> None:
        # Its rings are passed on.
        _ = self._read_answer(await self._one(self._side, "control", query, *values), ANSWER)
