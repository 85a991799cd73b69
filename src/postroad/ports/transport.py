"""Transports open a session for a lane, try to send one message, and return the outcome."""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Final, Protocol, runtime_checkable

from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.outcome import Outcome

Beat = Callable[[float], None]
Reopened = Callable[[str, str, Callable[[], bool]], None]
"""Tenant, queue, and whether it is still open: it may be over its quota again."""


def _no_deadline(_seconds: float) -> None:
    """Outside a try there is no deadline."""


BEAT: Final[ContextVar[Beat]] = ContextVar("postroad_beat", default=_no_deadline)
"""Known inside a try: it still goes on, and may take so many seconds from now. To be called in
the loop's thread."""


class Session(Protocol):
    """An open session to one server."""

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """Make one try and return its outcome. Raises only when it is cancelled, which is how a try
        ends that takes longer than its queue's policy allows, and Shortage, when nothing was sent
        for lack of file descriptors in this process."""

    def overdue(self, seconds: float) -> Outcome:
        """Return the outcome of a try that was cut after so long."""

    async def close(self) -> None:
        """Close the session."""


@runtime_checkable
class Lingers(Protocol):
    """A session whose tries may go on after they were cut, as threads do."""

    def remains(self, number: int) -> "asyncio.Future[None] | None":
        """Return what still runs of a message's try that was just cut. It counts as in flight until
        this is done."""


@runtime_checkable
class Stops(Protocol):
    """A session whose tries can be stopped because their messages are cancelled."""

    def stop(self, number: int) -> bool:
        """Stop the try of a message: True when it is to be cut; False when it was told, and ends by
        itself."""


@runtime_checkable
class Prepares(Protocol):
    """A session that can do beforehand what a try would have to wait for."""

    async def prepare(self, queue: Queue, message: Message) -> Outcome | None:
        """Called before a try whose moment is set by a limit. An outcome when nothing can be sent:
        then there is no try."""


@runtime_checkable
class HearsCuts(Protocol):
    """A session that counts or logs tries that are cut at their deadline."""

    def cut(self, message: Message, outcome: Outcome) -> None:
        """A try was cut, with this outcome."""


@runtime_checkable
class Closable(Protocol):
    """A transport that has something to close when its road ends."""

    async def close(self) -> None:
        """Close it, and stop listening."""


@runtime_checkable
class Reopens(Protocol):
    """A transport whose recipients say when they take messages again."""

    def on_reopen(self, call: Reopened) -> None:
        """Set what is called, in the loop, when a queue need not be held any longer."""


@runtime_checkable
class Vets(Protocol):
    """A transport whose queues are other people's servers. What was set for a queue stays when
    another process uses it."""

    async def vet(self, queue: str, tenant: str, *, now: bool = False) -> None:
        """Check that a tenant may have a new queue; BadInput says why not. With `now` its server
        has to have an address at this moment."""

    def check(self, headers: Mapping[str, str]) -> None:
        """Check that a message's own headers can be sent; BadInput says why not."""


@runtime_checkable
class Admits(Protocol):
    """A transport to which only some tenants may send."""

    async def admit(self, queue: str, tenant: str) -> None:
        """Check that this tenant may send to this queue; BadInput says why not."""


class Transport(Protocol):
    """Delivers to one kind of recipient."""

    name: str
    shards: int

    def address(self, queue: str, tenant: str) -> LaneKey:
        """Return the lane that serves this queue; BadInput says what is wrong with the name."""

    def policy(self, queue: str) -> Policy:
        """Return the policy of a queue that is made on first use."""

    def pools(self) -> list[str]:
        """Return the pools that this process can serve."""

    def concurrency(self, pool: str) -> int:
        """Return how many tries of a pool may be in flight in this process; 0 is no limit of its
        own."""

    async def open(self, lane: LaneKey) -> Session:
        """Open a session for the lane."""
