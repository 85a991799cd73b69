"""When unused queues are deleted, and how the walk over all queues goes."""

from typing import Final

DAY_MS: Final = 86_400_000
WALK_EVERY_MS: Final = DAY_MS
ASK_AGAIN_MS: Final = 6 * 3_600_000
"""When it is not this process's turn to go on with it."""
WALK_SLICE: Final = 100
DELETE_MOST: Final = 20
"""Queues deleted by one transaction: on PostgreSQL nobody can send to their buckets meanwhile."""
HISTORY_MARGIN_MS: Final = 2 * DAY_MS
"""Finished work names its queue, and is forgotten by the day."""
GONE: Final = "a queue that nobody used for long was deleted at this moment: do it again"


def unused_for_ms(unused_ms: int, history_ms: int) -> int:
    """Return how long a queue must have been unused. No finished work may name it any more."""
    return max(unused_ms, history_ms + HISTORY_MARGIN_MS)
