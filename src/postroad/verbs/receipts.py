"""Receipts: what a sender is told about a message that is stored."""

from collections.abc import Sequence
from copy import copy

from msgspec import Struct

from postroad.engine.drafting import Send
from postroad.model.entities import Accepted
from postroad.model.errors import Conflict
from postroad.model.errors import NotOnRabbitMQ as NotHere
from postroad.model.ids import to_text


class Receipt(Struct, frozen=True, gc=False):
    """A receipt: the message is stored. `duplicate`: it was stored before, under the same key.
    `earlier`: with `replace`, the one before it was `replaced`, or had `started`."""

    id: str
    queue: str
    duplicate: bool = False
    earlier: str = ""

    @property
    def handed_over(self) -> bool:
        """Whether the message was only handed to the broker, which may not have stored it."""
        return False


class HandedOver(Receipt, frozen=True, gc=False):
    """A receipt of a message that the broker has not confirmed."""

    @property
    def handed_over(self) -> bool:
        """True: the broker may not have stored it."""
        return True


def receipts_of(sends: Sequence[Send], answers: Sequence[Accepted]) -> list[Receipt]:
    """The receipts of sends that are stored; the first refusal is raised, with what is stored."""
    pairs = list(zip(sends, answers, strict=True))
    receipts = [
        Receipt(to_text(a.id), s.queue, a.duplicate, a.earlier) for s, a in pairs if a.stored
    ]
    for send, answer in pairs if len(receipts) < len(sends) else ():
        if not answer.stored:
            error = copy(answer.refused) or _conflict(send, answer)  # others may be told the same
            error.stored = tuple(receipt.id for receipt in receipts)
            raise error
    return receipts


def check_plain(send: Send, where: str) -> None:
    """Refuse what only a store can do that sees all messages of a queue."""
    if send.replace is not None or send.unique_for:
        raise NotHere(
            f"replace= and unique_for= do not work {where}: send it with road.send, on a road on "
            "PostgreSQL or SQLite"
        )


def _conflict(send: Send, answer: Accepted) -> Conflict:
    return Conflict(
        f"key {send.key!r} was used for {send.queue!r} within a day with another body: "
        f"it is {to_text(answer.id)}; use a new key for a new message"
    )
