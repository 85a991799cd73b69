"""What holds messages back although they are due, in words. The stores' view `hold` uses the same
words."""

from collections.abc import Iterable

from postroad.model.block import BlockKind
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.entities import Queue


def because_of(
    queue: Queue, now_ms: int, *, lane_paused: bool = False, circuit: Circuit = CLOSED
) -> str:
    """Say what holds a queue's messages on a lane; "" is nothing."""
    block = queue.block if queue.block and queue.block.until_ms > now_ms else None
    if queue.paused:
        return "paused"
    if block and block.kind is BlockKind.disabled:
        return f"disabled: {block.reason}"
    return because_of_lane(paused=lane_paused, circuit=circuit) or (
        f"{block.kind}: {block.reason}" if block else ""
    )


def because_of_lane(*, paused: bool, circuit: Circuit) -> str:
    """Say what holds all messages of a lane; "" is nothing."""
    if paused:
        return "lane paused"
    if not circuit.is_open:
        return ""
    return f"{'lane held' if circuit.is_held else 'circuit open'}: {circuit.reason}"


def because_of_all(reasons: Iterable[str]) -> str:
    """Name one of several reasons, and how many others there are."""
    different = sorted({reason for reason in reasons if reason})
    return one_of(different[0], len(different)) if different else ""


def one_of(reason: str, count: int) -> str:
    """Name a reason, one of `count`."""
    others = "1 other reason" if count == 2 else f"{count - 1} other reasons"
    return reason if count < 2 else f"{reason} (and {others})"
