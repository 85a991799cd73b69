"""What the store does to cancel, pause and unblock."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.control import CancelSlice, CancelState, Cursor, MessageFilter
from postroad.model.entities import Lane


class Control(Protocol):
    """Cancels, settles, pauses, resumes and unblocks."""

    async def cancel(
        self, tenant: str, ids: Sequence[int], *, running: bool = False
    ) -> dict[int, CancelState]:
        """Cancel what nobody owns, and ask the owners of the rest, which is `pending`, to cancel
        it; with `running`, also to stop its try. Ask again until nothing is pending."""

    async def withdraw(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Let the lane's owner cancel these; False when the lane is not its own."""

    async def settle(self, tenant: str, number: int, *, sent: bool) -> bool:
        """Count an uncertain message as delivered, or put it back on its rung, due now. False when
        no uncertain message has this number."""

    async def cancel_some(self, which: MessageFilter, after: Cursor, limit: int) -> CancelSlice:
        """Cancel, or ask for, those that are meant of the next `limit` messages of a walk, in one
        short transaction. One that is tried meanwhile may move behind the cursor: walk again."""

    async def pause_queue(self, queue: int, *, paused: bool) -> None:
        """Hold all messages of a queue, or let them go on. Paused time counts towards no spell."""

    async def unblock_queue(self, queue: int) -> None:
        """Lift a queue's hold-off, also one that disabled it."""

    async def pause_lane(self, lane: int, *, paused: bool) -> None:
        """Hold all queues of a lane, or let them go on."""

    async def hold_lane(self, lane: int, until_ms: int, reason: str) -> None:
        """Hold a lane until a time, as an answer rule does; of several ends the latest counts. With
        0 a circuit is closed whose time is over: the server has answered."""

    async def unblock_lane(self, lane: int) -> None:
        """Close a lane's circuit, and lift its queues' `unreachable` hold-offs."""
