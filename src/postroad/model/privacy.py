"""Erasing and exporting what is stored about a tenant or a recipient."""

from hashlib import sha256
from typing import Final

from msgspec import Struct

FIRST_STEP: Final = "access"
CANCEL_STEP: Final = "messages"
LAST_STEP: Final = "done"


class Subject(Struct, frozen=True):
    """Whose data is meant: all of a tenant, or one recipient of it. A recipient is the name of a
    queue (a URL, for example), a recipient of messages or campaigns, or a mailbox."""

    tenant: str
    recipient: str = ""

    @property
    def digest(self) -> str:
        """Identifies the recipient to people who know it; empty for a whole tenant."""
        if not self.recipient:
            return ""
        return sha256(f"{self.tenant}\0{self.recipient}".encode()).hexdigest()


class Erasure(Struct, frozen=True):
    """A job that erases: how far it is, and what it has erased. The recipient itself is stored only
    while the job is under way."""

    id: int
    tenant: str
    recipient_digest: str
    """The SHA-256 of tenant, a zero byte and recipient; empty for a whole tenant."""
    asked_at_ms: int
    ended_at_ms: int | None
    step: str
    waits_for: int
    """Tries in flight, or lanes in use, that it waits for."""
    erased: dict[str, int]
    """Rows by table."""
    kept_queues: int
    """Queues that were not deleted, because new messages are sent to them."""
    left: str = ""
    """What could not be erased, and why."""

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.ended_at_ms is not None

    @property
    def count(self) -> int:
        """All rows that were erased."""
        return sum(self.erased.values())


class ErasureJob(Struct, frozen=True):
    """An erasure as its steps see it."""

    id: int
    subject: Subject
    asked_at_ms: int
    step: str
    step_at_ms: int
    """When this step began."""
    after: int
    """The last row that this step has looked at."""
    erased: dict[str, int]
    kept_queues: int = 0
    keeps_queues: bool = False
    """Whether messages that cannot be found may need the queues."""
