"""The interface of stores: few methods, each with its contract in a sentence. One test suite holds
every store to them."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.entities import Accepted, Draft, Lane, Queue, QueueSpec
from postroad.model.record import (
    Claim,
    Collected,
    Look,
    Reading,
    Reaped,
    Record,
    Recorded,
    Release,
    Swept,
    View,
    Want,
)
from postroad.ports.audit import AuditLog
from postroad.ports.bell import Bell
from postroad.ports.bodies import Bodies
from postroad.ports.clock import Clock
from postroad.ports.control import Control
from postroad.ports.deadset import DeadSet
from postroad.ports.insight import Insight
from postroad.ports.listing import Listings
from postroad.ports.overview import Overviews
from postroad.ports.pace import Slots
from postroad.ports.privacy import PrivacyStore
from postroad.ports.private_headers import HeaderStore
from postroad.ports.recipients import Recipients
from postroad.ports.rollups import Rollups
from postroad.ports.rules import RuleStore
from postroad.ports.suppressions import SuppressionLists
from postroad.ports.tenants import Tenants
from postroad.ports.ticks import Ticks
from postroad.ports.tokens import Tokens
from postroad.ports.usage import Usage
from postroad.ports.webhooks import HookStore

Levels = Sequence[int]
Names = Sequence[str]


class Inbox(Protocol):
    """Accepts messages."""

    async def open_queues(self, specs: Sequence[QueueSpec]) -> list[Queue]:
        """Return the queues of these names, made with their lanes where they are new. A policy that
        differs replaces the old one."""

    async def find_queue(self, tenant: str, name: str) -> Queue | None:
        """Return the queue of that name."""

    async def accept(self, drafts: Sequence[Draft]) -> list[Accepted]:
        """Store them all in one transaction, then answer. A key that was used within its time
        answers with the first id, or as a conflict when the body differs."""


class Leases(Protocol):
    """Lends lanes to owners, and takes their results."""

    async def join(self) -> int:
        """Return a new owner number for this process."""

    async def claim(
        self, owner: int, levels: Levels, pools: Names, limit: int, without: Names = ()
    ) -> Claim:
        """Own up to `limit` unowned lanes that are ready at these levels, whole, at a new epoch:
        the longest ready first, and tenant by tenant in turn where there are more. Lanes of the
        tenants `without` are left."""

    async def look(self, looks: Sequence[Look]) -> list[View]:
        """Read the rungs of owned lanes that became ready after a time, or are named."""

    async def fetch(self, wants: Sequence[Want]) -> list[Reading]:
        """Read due messages of rungs, in order."""

    async def mark(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Note that these are about to start; False when the lane is no longer ours."""

    async def unmark(self, ids: Sequence[int]) -> None:
        """Take back the notes of starts: those messages were not started, or were stopped without a
        lost lease."""

    async def record(self, record: Record) -> Recorded:
        """Apply results in one transaction. A failure needs the current epoch; a success is
        applied by message id, also late."""

    async def release(self, owner: int, lanes: Sequence[Release]) -> dict[int, int]:
        """Give lanes back; returns when each level of them is ready next."""

    async def disown(self, owner: int, keep: Sequence[int]) -> None:
        """Give back all lanes but these: after a claim or release whose answer was lost."""

    async def beat(self, owner: int) -> bool:
        """Renew the owner's lease; False when a peer has declared this owner dead."""

    async def held(self, owner: int) -> set[tuple[int, int]]:
        """Return the lanes that are the owner's, with their epochs."""

    async def reap(self, dead_after_ms: int) -> Reaped:
        """Free the lanes of owners that were not heard from; each has lost a lease."""

    async def leave(self, owner: int) -> None:
        """Give up all lanes: the owner stops."""


class Upkeep(Protocol):
    """The work of the janitor."""

    async def sweep(self, limit: int) -> Swept:
        """Move what has expired, or outlived a spell, to the dead set."""

    async def retain(self, history_ms: int, dead_ms: int) -> int:
        """Delete finished work older than these."""

    async def collect(self, unused_ms: int) -> Collected:
        """Go on with a daily walk over all queues: note those that hold nothing and for which
        nobody has set anything, and delete those that were seen so for longer than this, with
        lanes that serve no other. Drafts for one that is gone are refused: QueueGone."""


class Lists(Insight, Overviews, Listings, Bodies, Recipients, Protocol):
    """Queries about messages, queues and lanes."""


class Readers(Lists, Rollups, Usage, Tenants, Tokens, AuditLog, HookStore, Protocol):
    """Queries, figures, tokens, the audit log, webhook settings: what is kept beside messages."""


class Kept(Readers, HeaderStore, PrivacyStore, SuppressionLists, RuleStore, Protocol):
    """What is stored, beside the messages that wait."""


class Store(Inbox, Leases, Upkeep, Control, DeadSet, Slots, Kept, Ticks, Protocol):
    """The whole store, on one database."""

    @property
    def bell(self) -> Bell:
        """The store's bell."""

    @property
    def clock(self) -> Clock:
        """The store's clock, by which due times and leases go."""

    @property
    def queries(self) -> dict[str, int]:
        """How many statements were sent so far, by purpose: a level's claim, fetch, record…"""

    @property
    def is_read_by_thread(self) -> bool:
        """Whether a thread of this process reads now, which needs the interpreter for each row."""

    async def open(self) -> None:
        """Connect, and check the schema."""

    async def close(self) -> None:
        """Finish the work that was handed over, then disconnect."""
