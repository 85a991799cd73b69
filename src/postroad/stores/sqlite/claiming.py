"""Claiming: which lanes that are ready an owner takes, tenant by tenant in turn."""

import os
import socket
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from postroad.model.entities import Lane
from postroad.model.record import Claim
from postroad.model.states import NEVER
from postroad.model.turn import Ready, in_turn, soon_again
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.leases import read_lane

TENANTS_MAX: Final = 256
"""Of so many tenants lanes are found by one claim of each level and pool; the next one goes on."""


class Ask(Struct, frozen=True):
    """What an owner asks for."""

    levels: Sequence[int]
    pools: Sequence[str]
    limit: int
    without: frozenset[str]
    """Tenants whose lanes it does not want."""
    now_ms: int


class Found(Struct):
    """The lanes that are ready, when the next ones are, and whether there are more."""

    ready: list[Ready]
    next_at_ms: dict[int, int]
    more: bool


def claim(db: Database, owner: int, ask: Ask) -> Claim:
    """Own lanes that are ready at these levels."""
    found = _look(db, ask)
    taken = in_turn(found.ready, ask.limit)
    if taken:
        db.run("beat_new", owner, ask.now_ms, socket.gethostname(), os.getpid())
    lanes = [_take(db, owner, lane) for lane in taken]
    return Claim(lanes, found.next_at_ms, found.more, db.one("any_owned") is not None)


def _look(db: Database, ask: Ask) -> Found:
    found = Found([], {}, more=False)
    after, last = db.turn, ""
    for level in ask.levels:
        for pool in ask.pools:
            rows = db.all("claim_ready", pool, level, ask.now_ms, ask.limit)
            ready = [one for row in rows if (one := Ready(*row)).tenant not in ask.without]
            if len(rows) >= ask.limit and db.number("claim_several", pool, level):
                # There are more than it takes: whose turn it is counts, not who is longest ready.
                ready, end, more = _by_tenant(db, ask, pool, level, after)
                found.more = found.more or more
                last = min(last or end, end or last)
            found.ready += ready
            soonest = db.number("claim_next", pool, level, ask.now_ms) or NEVER
            found.next_at_ms[level] = min(found.next_at_ms.get(level, NEVER), soonest)
    db.turn = last
    found.more = found.more or len(found.ready) >= ask.limit
    if after and not found.more:
        found.next_at_ms = soon_again(found.next_at_ms, ask.now_ms)
    return found


def _by_tenant(
    db: Database, ask: Ask, pool: str, level: int, after: str
) -> tuple[list[Ready], str, bool]:
    """Lanes of each tenant after one; the last tenant if there may be others behind it; and
    whether there are more lanes than these."""
    tenants: list[str] = []
    while len(tenants) < TENANTS_MAX and (row := db.one("claim_tenant", pool, level, after)):
        (after,) = row
        tenants.append(after)
    wanted = [tenant for tenant in tenants if tenant not in ask.without]
    each = max(8, min(ask.limit, 8 * ask.limit // max(1, len(wanted))))
    found = [db.all("claim_of", pool, level, tenant, ask.now_ms, each) for tenant in wanted]
    end = after if len(tenants) == TENANTS_MAX else ""
    more = end != "" or any(len(rows) == each for rows in found)
    return [Ready(*row) for rows in found for row in rows], end, more


def _take(db: Database, owner: int, lane: int) -> Lane:
    row = db.one("claim_take", lane, owner)
    if row is None:
        raise LookupError(f"lane {lane} is ready for claiming and owned at once")
    db.run("claim_hide", lane)
    return read_lane(row)
