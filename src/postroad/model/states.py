"""Message states, why messages die, and which moves are legal."""

from enum import StrEnum
from typing import Final

NEVER: Final = 1 << 62
"""A time that does not come: an empty or stopped rung is ready then."""


class State(StrEnum):
    """The state of a message."""

    waiting = "waiting"
    held = "held"
    sending = "sending"
    uncertain = "uncertain"
    delivered = "delivered"
    cancelled = "cancelled"
    dead = "dead"


class DeadReason(StrEnum):
    """Why a message will not be tried again."""

    rejected = "rejected"
    exhausted = "exhausted"
    expired = "expired"
    expired_quota = "expired_quota"
    expired_unreachable = "expired_unreachable"
    expired_held = "expired_held"
    excess_held = "excess_held"
    crash_loop = "crash_loop"


FINAL: Final = frozenset({State.delivered, State.cancelled, State.dead})

# The way out of a final state is replay (dead -> waiting) or a proven late success
# (dead -> delivered); nothing else.
LEGAL: Final = {
    # waiting -> delivered: the late success of an owner that had lost its lease.
    State.waiting: {State.held, State.sending, State.delivered, State.cancelled, State.dead},
    State.held: {State.waiting, State.cancelled, State.dead, State.delivered},
    State.sending: {
        State.delivered,
        State.waiting,
        State.held,
        State.dead,
        State.uncertain,
        State.cancelled,
    },
    State.uncertain: {State.delivered, State.waiting, State.held, State.cancelled, State.dead},
    State.delivered: set[State](),
    State.cancelled: set[State](),
    State.dead: {State.waiting, State.delivered},
}


def is_legal(old: State, new: State) -> bool:
    """Whether a message may go from one state to another."""
    return new in LEGAL[old]
