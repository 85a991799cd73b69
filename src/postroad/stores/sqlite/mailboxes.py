"""The hub's mailboxes in the road's file: one batch, one transaction."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from postroad.model.mailbox import Answer, Box, Create, Letter, Looked, Op
from postroad.model.mailbox_rules import Work, decide, looked, names, settle
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.writer import Writer

LOOK_CACHE: Final = "pragma cache_size = -2000"
"""A small cache: hundreds of thousands of mailboxes are looked up once, and in the road's own cache
their pages would take a tenth of what their subscriptions take."""


class SqliteMailboxes(SqliteBase):
    """Stores the hub's mailboxes. The file's lock makes this process the only hub."""

    _looker: Writer | None = None

    async def hub_lead(self) -> float:
        """Lead for ever: the process that has the file open is its hub."""
        return math.inf

    def hub_hear(self, call: Callable[[], None]) -> None:
        """Do nothing: no other process can have this file."""

    async def hub_unlead(self) -> None:
        """Do nothing: there is nothing to give back."""

    async def box_look(self, asks: Sequence[tuple[str, bytes]]) -> Looked:
        """Who may receive, and how much waits."""
        if self._looker is None:
            db = Database(self.path, readonly=True)
            db.connection.execute(LOOK_CACHE)
            self._databases.append(db)
            self._looker = Writer(db, self._drive(), self.bell.ring, reads=True)
        return await self._looker.submit(lambda db: _look(db, asks))

    async def close(self) -> None:
        """Finish the work that was submitted, then close the file."""
        if self._looker is not None:
            await self._looker.close()
            self._looker = None
        await super().close()

    async def box_commit(self, ops: Sequence[Op]) -> list[Answer]:
        """Decide in order, store, then answer."""
        now_ms = self.clock.now_ms()
        return await self.write("hub", lambda db: apply(db, ops, now_ms), durable=True)

    async def box_create(self, box: Box) -> None:
        """A new mailbox."""
        _ = await self.box_commit([Create(box)])  # a name that is drawn is new

    async def box_find(self, name: str) -> Box | None:
        """One mailbox as it is stored."""
        return (await self.read("hub", lambda db: _boxes(db, [name]))).get(name)

    async def box_old(self, limit: int) -> list[tuple[str, int]]:
        """Mailboxes with messages past their time."""
        now_ms = self.clock.now_ms()
        rows = await self.read("hub", lambda db: db.all("letter_old", now_ms, limit))
        return [(name, position) for name, position in rows]

    async def box_page(self, tenant: str, after: str, limit: int) -> list[tuple[str, int, bool]]:
        """Mailboxes in order of name."""
        rows = await self.read("hub", lambda db: db.all("box_page", tenant, after, limit))
        return [(name, waiting, bool(over)) for name, waiting, over in rows]


def apply(db: Database, ops: Sequence[Op], now_ms: int) -> list[Answer]:
    """One batch inside a transaction: read the mailboxes, decide, write what changed."""
    work = Work(_boxes(db, names(ops)), now_ms)
    answers = [decide(op, work) for op in ops]
    for box in work.created:
        values = (box.name, box.tenant, box.sender, box.recipient, box.quota, box.ttl_ms)
        box.number = db.number("box_insert", *values) or 0
    db.many("letter_insert", ((box.number, *_letter(box, one)) for box, one in work.letters))
    settle(work, _read(db, work))
    db.many("letter_delete", ((box.number, first, last) for box, first, last in work.gone))
    changed = work.changed.values()
    db.many("box_update", ((b.number, b.first, b.next, int(b.over)) for b in changed))
    for box in work.dropped:
        db.run("letter_clear", box.number)
        db.run("box_delete", box.number)
    return answers


def _boxes(db: Database, wanted: list[str]) -> dict[str, Box]:
    if not wanted:
        return {}
    boxes: dict[str, Box] = {}
    for *words, over, number in db.rows("box_find", msgspec.json.encode(wanted).decode()):
        box = boxes[words[0]] = Box(*words)
        box.over, box.number = bool(over), number
    return boxes


def _look(db: Database, asks: Sequence[tuple[str, bytes]]) -> Looked:
    return looked(_boxes(db, [name for name, _ in asks]), asks)


def _letter(box: Box, one: Letter) -> tuple[int, int, int, int, bytes]:
    return (one.position, one.at_ms, one.at_ms + box.ttl_ms, int(one.text), one.body)


def _read(db: Database, work: Work) -> dict[tuple[int, int], Letter]:
    if not work.heads:
        return {}
    wanted = {(box.number, position) for box, position, _, _ in work.heads}
    rows = db.rows("letter_read", msgspec.json.encode(list(wanted)).decode(), work.now_ms)
    return {(box, at): Letter(at, when, bool(text), body) for box, at, when, text, body in rows}
