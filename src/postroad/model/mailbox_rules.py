"""The rules of mailboxes, as pure decisions: no clock, no store, no socket."""

from collections.abc import Sequence
from hmac import compare_digest
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from postroad.model.mailbox import (
    DENIED,
    DONE,
    FULL,
    Answer,
    Box,
    Create,
    Done,
    Drop,
    Expire,
    Get,
    Heads,
    Letter,
    Looked,
    Op,
    Peek,
    Post,
    Posted,
    RefusalCode,
    Refused,
    Take,
    Taken,
    Watch,
    Watched,
)

NOBODY: Final = bytes(32)
WRONG_ID: Final = Refused(RefusalCode.wrong_id, "not the oldest message: nothing was deleted")


class Work(Struct):
    """The mailboxes of a batch, and what the batch changes. It is written in one transaction:
    messages are stored, heads read, messages deleted."""

    boxes: dict[str, Box]
    now_ms: int
    created: list[Box] = field(default_factory=list)
    dropped: list[Box] = field(default_factory=list)
    changed: dict[str, Box] = field(default_factory=dict)
    letters: list[tuple[Box, Letter]] = field(default_factory=list)
    heads: list[tuple[Box, int, Heads | Taken, int]] = field(default_factory=list)
    """To be read: the mailbox, the position, and the answer (and its place) that gets it."""
    gone: list[tuple[Box, int, int]] = field(default_factory=list)
    """Messages to be deleted: first and last position."""


def names(ops: Sequence[Op]) -> list[str]:
    """List the mailboxes that must be read before these operations can be decided."""
    found: dict[str, None] = {}
    for op in ops:
        match op:
            case Watch(asks):
                found.update((name, None) for name, _ in asks)
            case Peek(many):
                found.update((name, None) for name in many)
            case Create():
                pass
            case _:
                found[op.name] = None
    return list(found)


def decide(op: Op, work: Work) -> Answer:
    """Decide one operation, after all that came before it in the batch."""
    match op:
        case Post():
            return _post(op, work)
        case Take():
            return _take(op, work)
        case Peek(many):
            return _heads([work.boxes.get(name) for name in many], work)
        case Get(name, token):
            box = _received(work, name, token)
            return DENIED if box is None else _heads([box], work)
        case Watch(asks, trusted):
            return Watched([_open(_sent(work, *ask, trusted)) for ask in asks])
        case Create(asked):
            made = replace(asked)  # what is asked stays as it is, should it be asked again
            work.created.append(made)
            work.boxes[made.name] = made
            return DONE
        case Drop():
            return _drop(op, work)
        case Expire(name, position):
            box = work.boxes.get(name)
            return DONE if box is None else Done(_remove(work, box, position), box.waiting)


def looked(boxes: dict[str, Box], asks: Sequence[tuple[str, bytes]]) -> Looked:
    """Check who may receive from these mailboxes, and how much waits in them."""
    work = Work(boxes, 0)
    found = [_received(work, name, token) for name, token in asks]
    return Looked([None if box is None else box.waiting for box in found])


def _post(op: Post, work: Work) -> Answer:
    box = _sent(work, op.name, op.token, op.trusted)
    if box is None:
        return DENIED
    if box.over or box.waiting >= box.quota:
        if not box.over:
            box.over = True
            work.changed[box.name] = box
        return FULL
    letter = Letter(box.next, work.now_ms, op.text, op.body)
    box.next += 1
    work.letters.append((box, letter))
    work.changed[box.name] = box
    return Posted(letter, head=letter.position == box.first)


def _take(op: Take, work: Work) -> Answer:
    box = work.boxes.get(op.name) if op.token is None else _received(work, op.name, op.token)
    if box is None:
        return DENIED
    if op.position > box.first or op.position >= box.next:
        return WRONG_ID
    # One that is gone already (expired, or taken by another way) was received all the same.
    taken = Taken(reopened=_remove(work, box, op.position), tenant=box.tenant)
    if box.waiting:
        work.heads.append((box, box.first, taken, 0))
    return taken


def _drop(op: Drop, work: Work) -> Answer:
    box = work.boxes.get(op.name) if op.token is None else _received(work, op.name, op.token)
    if box is None:
        return DENIED
    del work.boxes[box.name]
    work.changed.pop(box.name, None)
    work.dropped.append(box)
    return Done(reopened=box.over)


def _heads(boxes: list[Box | None], work: Work) -> Heads:
    heads = Heads([None] * len(boxes))
    for place, box in enumerate(boxes):
        if box is not None and box.waiting:
            work.heads.append((box, box.first, heads, place))
    return heads


def _remove(work: Work, box: Box, last: int) -> bool:
    """Delete messages up to this one; whether that opens a mailbox that was over its quota."""
    last = min(last, box.next - 1)
    if last < box.first:
        return False
    work.gone.append((box, box.first, last))
    box.first = last + 1
    work.changed[box.name] = box
    if box.over and not box.waiting:
        box.over = False
        return True
    return False


def _open(box: Box | None) -> bool | None:
    return None if box is None else not box.over


def _received(work: Work, name: str, token: bytes) -> Box | None:
    """Return the mailbox if this is its recipient's token. It takes the same time if there is no
    such mailbox."""
    box = work.boxes.get(name)
    fits = compare_digest(NOBODY if box is None else box.recipient, token)
    return box if fits else None


def _sent(work: Work, name: str, token: bytes, trusted: bool) -> Box | None:  # noqa: FBT001
    """Return the mailbox if this is its sender's token."""
    box = work.boxes.get(name)
    fits = compare_digest(NOBODY if box is None else box.sender, token)
    return box if fits or trusted else None


def settle(work: Work, found: dict[tuple[int, int], Letter]) -> None:
    """Put the heads that were read, by mailbox number and position, into the answers. One that is
    too old is not delivered any more."""
    for box, position, answer, place in work.heads:
        letter = found.get((box.number, position))
        answer.stale |= letter is None
        if isinstance(answer, Taken):
            answer.next = letter
        else:
            answer.letters[place] = letter
