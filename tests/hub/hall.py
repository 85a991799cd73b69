"""The hub's core with the real SQLite rules beneath it, in memory and in step: no loop, no thread."""

from pathlib import Path

import apsw

from postroad.hub.core import Core
from postroad.hub.frames import Acked, Continue, End, Event, MessageFrame
from postroad.hub.state import OnAnswer
from postroad.hub.subscriber import Client
from postroad.model.mailbox import (
    Answer,
    Box,
    Create,
    HubLimits,
    Looked,
    Posted,
    RefusalCode,
    Refused,
    Taken,
    digest,
)
from postroad.stores.sqlite import mailboxes
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.migration import SCHEMA

SENDER, RECIPIENT = "sender of {}", "recipient of {}"


def sender(name: str) -> bytes:
    return digest(SENDER.format(name))


def recipient(name: str) -> bytes:
    return digest(RECIPIENT.format(name))


def new_box(name: str, quota: int = 128, ttl_ms: int = 1_000_000) -> Box:
    return Box(name, sender(name), recipient(name), quota=quota, ttl_ms=ttl_ms)


class Wire:
    """A client's end: what it was told."""

    def __init__(self) -> None:
        self.frames: list[Event] = []
        self.closed: str | None = None

    def put(self, frame: Event) -> None:
        self.frames.append(frame)

    def buffered(self) -> int:
        return 0

    def close(self, code: int, reason: str) -> None:
        self.closed = f"{code} {reason}"

    def messages(self) -> list[tuple[str, int]]:
        """Mailbox and id of every message that came, by whichever way."""
        found: list[tuple[str, int]] = []
        for frame in self.frames:
            if isinstance(frame, MessageFrame):
                found.append((frame.box, frame.id))
            elif isinstance(frame, Acked) and frame.next:
                found.append((frame.next.box, frame.next.id))
        return found

    def ended(self) -> list[tuple[str, str]]:
        return [(f.box, f.why) for f in self.frames if isinstance(f, End)]

    def continued(self) -> list[str]:
        return [f.box for f in self.frames if isinstance(f, Continue)]


class Hall:
    """A core and its store, driven by hand."""

    def __init__(self, limits: HubLimits | None = None, kind: type[Core] = Core) -> None:
        self.now_s = 0.0
        self.core = kind(lambda: self.now_s, limits or HubLimits())
        connection = apsw.Connection(":memory:")
        connection.execute(SCHEMA["hub"])
        self.db = Database(Path(":memory:"), connection=connection)

    def connect(self) -> tuple[Client, Wire]:
        wire = Wire()
        return self.core.connect(wire), wire

    def create(self, *boxes: Box) -> None:
        for box in boxes:
            self.core.work.append((Create(box), lambda _answer: None))
        self.run()

    def turn(self) -> None:
        """As the pump does: looks first, then one commit."""
        looks = self.core.next_looks()
        batch = self.core.batch()
        for asks, settle in looks:
            settle(mailboxes._look(self.db, asks) if asks else Looked([]))
        with self.db.connection:
            answers = mailboxes.apply(self.db, [op for op, _ in batch], int(self.now_s * 1000))
        for (_, settle), answer in zip(batch, answers, strict=True):
            settle(answer)

    def fail(self) -> None:
        """The store takes nothing."""
        for _, settle in self.core.batch():
            settle(Refused(RefusalCode.unavailable, "away"))

    def run(self) -> None:
        while self.core.work or self.core.looks:
            self.turn()

    def stored(self) -> dict[str, list[int]]:
        rows = self.db.connection.execute(
            "select name, position from mailbox left join letter on mailbox = number order by 1, 2"
        )
        found: dict[str, list[int]] = {}
        for name, position in rows:
            found.setdefault(name, []).extend([] if position is None else [position])
        return found


class Got:
    """The answer that a command gets, when it gets one."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def __call__(self, answer: Answer) -> None:
        self.answers.append(answer)

    @property
    def only(self) -> Answer:
        (answer,) = self.answers
        return answer


def ack_settle(wire: Wire, box: str, position: int, got: Got) -> OnAnswer:
    """As a connection answers an ack: with the next message."""

    def settled(answer: Answer) -> None:
        got(answer)
        if isinstance(answer, Taken):
            letter = answer.next
            following = MessageFrame(box=box, id=letter.position, at=0) if letter else None
            wire.put(Acked(box=box, id=position, next=following))

    return settled


def position_of(answer: Answer) -> int:
    assert isinstance(answer, Posted)
    return answer.letter.position
