"""Transports: open a session for a lane, try to send one message, say what came of it."""

from typing import Protocol

from postroad.model.outcome import Outcome
from postroad.model.words import LaneKey, Message, Policy, Queue


class Session(Protocol):
    """One open way to one server."""

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """One try. Returns what happened; raises only on being cancelled, which is
        how a try ends that takes longer than its queue's policy allows."""

    def overdue(self, seconds: float) -> Outcome:
        """What a try means that was cut after so long."""

    async def close(self) -> None:
        """Give back what the session holds."""


class Transport(Protocol):
    """A kind of recipient."""

    name: str
    shards: int

    def address(self, queue: str, tenant: str) -> LaneKey:
        """The lane that serves this queue, or BadInput saying what is wrong with the name."""

    def policy(self, queue: str) -> Policy:
        """The policy of a queue that is made on first use."""

    def pools(self) -> list[str]:
        """Which lanes this process can serve."""

    def concurrency(self, pool: str) -> int:
        """How many tries of a pool may be in flight in this process; 0: no own limit."""

    async def open(self, lane: LaneKey) -> Session:
        """A session for the lane."""
