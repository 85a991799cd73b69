"""Receipts: what a sender gets for a message that is stored."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Protocol

from msgspec import Struct

from postroad.engine.drafting import Send
from postroad.model.durations import Duration
from postroad.model.entities import DEFAULT_TENANT, Accepted
from postroad.model.errors import BadInput, Conflict, NotOnRabbitMQ
from postroad.model.ids import to_text


class Receipt(Struct, frozen=True, gc=False, eq=False):
    """A receipt: the message is stored. `duplicate`: it was stored before, under the same key.
    `earlier`: with `replace`, the one before it was `replaced`, or had `started`."""

    id: str
    queue: str
    duplicate: bool = False
    earlier: str = ""

    def __eq__(self, other: object) -> bool:
        """Whether it says the same; who gave it does not matter."""
        if not isinstance(other, Receipt):
            return False
        mine, theirs = (self.id, self.queue), (other.id, other.queue)
        return mine == theirs and self.duplicate == other.duplicate

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        duplicate = ", duplicate=True" if self.duplicate else ""
        return f"{type(self).__name__}({self.id!r}, {self.queue!r}{duplicate})"

    @property
    def handed_over(self) -> bool:
        """Whether the message was only handed to the broker, which may not have stored it."""
        return False

    def result(self, *, timeout: Duration | None = None) -> Any:
        """Wait for the job, and return what its handler returned (`result_ttl`). Raises JobFailed
        with its error, ResultTimeout, or NoResult if nothing is kept."""
        del timeout
        raise BadInput(f"this receipt came from elsewhere: use road.jobs.result({self.id!r})")


class JobReads(Protocol):
    """Reads results."""

    def result(self, id: str, *, timeout: Duration | None, tenant: str) -> Any:  # noqa: A002
        """Wait for a job, and return what its handler returned."""


class SentReceipt(Receipt, frozen=True, gc=False, eq=False):
    """A receipt of a road that can be asked about it."""

    tenant: str = DEFAULT_TENANT
    jobs: JobReads | None = None

    def result(self, *, timeout: Duration | None = None) -> Any:
        """Wait for the job, and return what its handler returned."""
        if self.jobs is None:
            return super().result(timeout=timeout)
        return self.jobs.result(self.id, timeout=timeout, tenant=self.tenant)


class HandedOver(Receipt, frozen=True, gc=False, eq=False):
    """A receipt of a message that the broker has not confirmed."""

    @property
    def handed_over(self) -> bool:
        """True: the broker may not have stored it."""
        return True


def receipts_of(
    sends: Sequence[Send], answers: Sequence[Accepted], jobs: JobReads | None = None
) -> list[Receipt]:
    """The receipts of sends that are stored; the first refusal is raised, with what is stored."""
    pairs = list(zip(sends, answers, strict=True))
    receipts: list[Receipt] = [
        SentReceipt(to_text(a.id), s.queue, a.duplicate, a.earlier, s.tenant, jobs)
        for s, a in pairs
        if a.stored
    ]
    for send, answer in pairs if len(receipts) < len(sends) else ():
        if not answer.stored:
            error = copy(answer.refused) or _conflict(send, answer)  # others may be told the same
            error.stored = tuple(receipt.id for receipt in receipts)
            raise error
    return receipts


def check_plain(send: Send) -> None:
    """Refuse what only a store can do that sees all messages of a queue."""
    if send.replace is not None or send.unique_for:
        raise NotOnRabbitMQ(
            "replace= and unique_for=: a broker takes no message back, and remembers no keys. "
            "Leave them out; or use a road on PostgreSQL or SQLite, which can"
        )


def _conflict(send: Send, answer: Accepted) -> Conflict:
    return Conflict(
        f"key {send.key!r} was used for {send.queue!r} within a day with another body: "
        f"it is {to_text(answer.id)}; use a new key for a new message"
    )
