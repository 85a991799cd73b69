"""Claims: which ready lanes an owner takes, tenant by tenant in turn."""

import os
import socket
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.entities import Lane
from postroad.model.record import Claim
from postroad.model.states import NEVER
from postroad.model.tenant_turns import ReadyLane, in_turn, soon_again
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.leases import read_lane
from postroad.version import VERSION

TENANTS_MAX: Final = 256
"""Maximum tenants in one claim of a level and pool; the next claim goes on after them."""


class ClaimRequest(Struct, frozen=True):
    """What an owner wants to claim."""

    levels: Sequence[int]
    pools: Sequence[str]
    limit: int
    without: frozenset[str]
    """Tenants whose lanes it leaves."""
    now_ms: int


class ReadyLanes(Struct):
    """Lanes that are ready, when the next ones will be, and whether there are more."""

    ready: list[ReadyLane]
    next_at_ms: dict[int, int]
    more: bool


def claim(db: Database, owner: int, request: ClaimRequest) -> Claim:
    """Own lanes that are ready at these levels."""
    found = _look(db, request)
    taken = in_turn(found.ready, request.limit)
    if taken:
        db.run("beat_new", owner, request.now_ms, socket.gethostname(), os.getpid(), VERSION)
    lanes = [_take(db, owner, lane) for lane in taken]
    return Claim(lanes, found.next_at_ms, found.more, db.one("any_owned") is not None)


def _look(db: Database, request: ClaimRequest) -> ReadyLanes:
    found = ReadyLanes([], {}, more=False)
    after, last = db.turn, ""
    levels, pools = (msgspec.json.encode(list(each)) for each in (request.levels, request.pools))
    times = db.all("claim_times", levels.decode(), pools.decode(), request.now_ms)
    for level, pool, first_ms, next_ms in times:
        found.next_at_ms[level] = min(found.next_at_ms.get(level, NEVER), next_ms or NEVER)
        if first_ms is None or first_ms > request.now_ms:
            continue
        rows = db.all("claim_ready", pool, level, request.now_ms, request.limit)
        ready = [one for row in rows if (one := ReadyLane(*row)).tenant not in request.without]
        if len(rows) >= request.limit and db.number("claim_several", pool, level):
            # More are ready than it takes: tenants go in turn, not who has been ready longest.
            ready, end, more = _by_tenant(db, request, pool, level, after)
            found.more = found.more or more
            last = min(last or end, end or last)
        found.ready += ready
    db.turn = last
    found.more = found.more or len(found.ready) >= request.limit
    if after and not found.more:
        found.next_at_ms = soon_again(found.next_at_ms, request.now_ms)
    return found


def _by_tenant(
    db: Database, request: ClaimRequest, pool: str, level: int, after: str
) -> tuple[list[ReadyLane], str, bool]:
    """Lanes of each tenant after one; the last tenant if there may be others behind it; and
    whether there are more lanes than these."""
    tenants: list[str] = []
    while len(tenants) < TENANTS_MAX and (row := db.one("claim_tenant", pool, level, after)):
        (after,) = row
        tenants.append(after)
    wanted = [tenant for tenant in tenants if tenant not in request.without]
    each = max(8, min(request.limit, 8 * request.limit // max(1, len(wanted))))
    found = [db.all("claim_of", pool, level, tenant, request.now_ms, each) for tenant in wanted]
    end = after if len(tenants) == TENANTS_MAX else ""
    more = end != "" or any(len(rows) == each for rows in found)
    return [ReadyLane(*row) for rows in found for row in rows], end, more


def _take(db: Database, owner: int, lane: int) -> Lane:
    row = db.one("claim_take", lane, owner)
    if row is None:
        raise LookupError(f"lane {lane} is ready for claiming and owned at once")
    db.run("claim_hide", lane)
    return read_lane(row)
