"""The hub's mailboxes: one batch, one transaction, fenced by who is the hub."""

import os
import socket
from collections.abc import Callable, Sequence
from typing import Final

from asyncpg import Record

from postroad.model.errors import HubInUse
from postroad.model.mailbox import Answer, Box, Create, Letter, Looked, Op
from postroad.model.mailbox_rules import Work, decide, looked, names, settle
from postroad.ports.clock import Clock, system_chance
from postroad.ports.entropy import secret_bytes
from postroad.ports.log import Log
from postroad.stores.postgres.base import PostgresBase
from postroad.stores.postgres.connections import ANSWER_S, QUERIES, Raw, StoreConnection

SILENT_MS: Final = 30_000
"""A hub whose lease was renewed within this time is alive; another one is asked."""
ANSWER_WITHIN_S: Final = 5.0
"""A hub that was asked and does not answer for so long is dead. A living one answers within
milliseconds; the watchdog ends a process that is stuck for twice as long."""
ASK_AGAIN_S: Final = 0.25
HEARS_S: Final = 1_800.0
SAYS_S: Final = 10.0
"""How often a hub renews its lease; one that can be asked over the bell need not."""


class PostgresMailboxes(PostgresBase):
    """Serves the hub, on a connection of its own."""

    def __init__(self, dsn: str, clock: Clock, log: Log | None = None) -> None:
        super().__init__(dsn, clock, log)
        self._hub = StoreConnection("hub", self.address, self._counts, clock, system_chance())
        self._lines.append(self._hub)
        self._holder = secret_bytes(16).hex()
        self._leads = False

    def hub_hear(self, call: Callable[[], None]) -> None:
        """Call it when the hub is asked whether it is alive."""
        self.bell.on_hub = call

    async def hub_lead(self) -> float:
        """Become the hub, or stay it; returns after how many seconds to renew the lease."""
        self._check_open()
        me = (self._holder, f"{socket.gethostname()}, process {os.getpid()}")
        if not await self._hub.rows("hub", "hub_lead", me):
            led, self._leads = self._leads, False
            if led:
                raise self._in_use("another process")
            await self._take_over(me)
        self._leads = True
        return HEARS_S if self.bell.alive else SAYS_S

    async def _take_over(self, me: tuple[str, str]) -> None:
        """Become the hub in place of one that was silent for long and does not answer now."""
        until_s = self.clock.steady_s() + ANSWER_WITHIN_S
        asked: tuple[str, int] | None = None
        while True:
            rows = await self._hub.rows("hub", "hub_ask", (SILENT_MS,))
            if not rows:
                if await self._hub.rows("hub", "hub_lead", me):
                    return
                continue
            holder, beat_at, name, silent, _ = rows[0]
            if not silent or asked not in (None, (holder, beat_at)):
                raise self._in_use(name)
            asked = (holder, beat_at)
            if self.clock.steady_s() >= until_s:
                if await self._hub.rows("hub", "hub_take", (*me, *asked)):
                    return
                raise self._in_use("another process")
            await self.clock.sleep(ASK_AGAIN_S)

    async def hub_unlead(self) -> None:
        """Stop being the hub."""
        self._check_open()
        self._leads = False
        _ = await self._hub.rows("hub", "hub_unlead", (self._holder,))  # it gives no rows

    async def box_look(self, asks: Sequence[tuple[str, bytes]]) -> Looked:
        """Who may receive, and how much waits."""
        self._check_open()
        rows = await self._hub.rows("hub", "box_find", ([name for name, _ in asks],))
        return looked(_boxes(rows), asks)

    async def box_commit(self, ops: Sequence[Op]) -> list[Answer]:
        """Decide a batch in order and store what it changes."""
        self._check_open()
        return await self._hub.together("hub", lambda raw: self._apply(raw, ops))

    async def box_create(self, box: Box) -> None:
        """Make a mailbox. It needs no fence: nobody knows of it yet."""
        self._check_open()
        work = Work({}, 0)
        _ = decide(Create(box), work)  # a name that is drawn is new
        await self._side.together("hub", lambda raw: _write(raw, work))

    async def box_find(self, name: str) -> Box | None:
        """One mailbox as it is stored."""
        self._check_open()
        return _boxes(await self._side.rows("hub", "box_find", ([name],))).get(name)

    async def box_old(self, limit: int) -> list[tuple[str, int]]:
        """Mailboxes with messages past their time."""
        self._check_open()
        return [(row[0], row[1]) for row in await self._hub.rows("hub", "letter_old", (limit,))]

    async def box_page(self, tenant: str, after: str, limit: int) -> list[tuple[str, int, bool]]:
        """Mailboxes in order of name."""
        self._check_open()
        rows = await self._side.rows("hub", "box_page", (tenant, after, limit))
        return [(row[0], row[1], row[2]) for row in rows]

    async def _apply(self, raw: Raw, ops: Sequence[Op]) -> list[Answer]:
        fence = await _rows(raw, "hub_fence", self._holder)
        if not fence:
            raise self._in_use("another process")
        wanted = names(ops)
        found = await _rows(raw, "box_find", wanted) if wanted else []
        work = Work(_boxes(found), fence[0][0])
        answers = [decide(op, work) for op in ops]
        await _write(raw, work)
        return answers

    def _in_use(self, who: str) -> HubInUse:
        where = self.address.name
        return HubInUse(
            f"{where} has a hub already ({who}): stop it first, or wait 30 s if it died"
        )


async def _write(raw: Raw, work: Work) -> None:
    """Write what a batch changed: messages in, heads read, messages out."""
    if made := work.created:
        values = [(b.name, b.tenant, b.sender, b.recipient, b.quota, b.ttl_ms) for b in made]
        numbers = {row[0]: row[1] for row in await _many(raw, "box_insert", values)}
        for box in made:
            box.number = numbers[box.name]
    letters = [(box.number, *_letter(box, one)) for box, one in work.letters]
    _ = await _many(raw, "letter_insert", letters)  # it gives no rows
    if work.heads:
        wanted = {(box.number, position) for box, position, _, _ in work.heads}
        columns = [list(column) for column in zip(*wanted, strict=True)]
        rows = await _rows(raw, "letter_read", *columns, work.now_ms)
        settle(work, {(r[0], r[1]): Letter(r[1], r[2], r[3], r[4]) for r in rows})
    gone = [(box.number, first, last) for box, first, last in work.gone]
    _ = await _many(raw, "letter_delete", gone)  # it gives no rows
    changed = [(b.number, b.first, b.next, b.over) for b in work.changed.values()]
    _ = await _many(raw, "box_update", changed)  # it gives no rows
    if work.dropped:
        _ = await _rows(raw, "box_delete", [box.number for box in work.dropped])  # it gives no rows


async def _rows(raw: Raw, query: str, *values: object) -> list[Record]:
    return await raw.fetch(QUERIES[query], *values, timeout=ANSWER_S)


async def _many(raw: Raw, query: str, rows: Sequence[Sequence[object]]) -> list[Record]:
    """The same for many rows, given as columns."""
    if not rows:
        return []
    return await _rows(raw, query, *(list(column) for column in zip(*rows, strict=True)))


def _boxes(rows: Sequence[Record]) -> dict[str, Box]:
    return {row[0]: Box(*row) for row in rows}


def _letter(box: Box, one: Letter) -> tuple[int, int, int, bool, bytes]:
    return (one.position, one.at_ms, one.at_ms + box.ttl_ms, one.text, one.body)
