"""Who owns which lane, and what its owner reads."""

import os
import socket
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec
from asyncpg import Record
from msgspec import Raw, Struct, field

from postroad.model.block import Block, BlockKind
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.entities import Lane, LaneKey, Policy, Queue, Rung
from postroad.model.hours import OpenHours
from postroad.model.record import Claim, Look, LostWorker, Reading, Reaped, Release, View, Want
from postroad.model.tenant_turns import soon_again
from postroad.ports.store import Levels, Names
from postroad.stores.postgres.base import StoreAnswer, decoder, flat, literal
from postroad.stores.postgres.batches import PostgresBatches
from postroad.stores.postgres.readings import first_in, found_in
from postroad.version import VERSION

LOOK_WHOLE_S: Final = 60.0
"""How often owners look at their whole lanes: a ring from another process may have been lost."""


RungRow = tuple[int, int, int, int, int, int, int, int]
LaneSeen = tuple[int, int, int, int, int, str, bool]


class ClaimedLane(Struct, frozen=True, array_like=True, gc=False):
    """A lane as a claim returns it; the last columns are left out if it was never in trouble."""

    id: int
    transport: str
    server: str
    credential: str
    shard: int
    tenant: str
    epoch: int
    strikes: int = 0
    opened: int = 0
    until: int = 0
    since: int = 0
    reason: str = ""
    crashes: int = 0
    paused_at: int = 0

    def lane(self) -> Lane:
        """The lane as its owner knows it."""
        key = LaneKey(self.transport, self.server, self.credential, self.shard, self.tenant)
        circuit = CLOSED
        if self.strikes or self.since:
            circuit = Circuit(self.strikes, self.opened, self.until, self.since, self.reason)
        return Lane(self.id, key, self.epoch, circuit, self.crashes, self.paused_at > 0)


class Ahead(Struct, frozen=True):
    """What a claim returns besides its lanes."""

    next: dict[int, int]
    full: bool
    owned: bool
    floor: int
    surplus: int
    arrivals: bool
    after: str
    """The tenant after which the next claim goes on, when not all could be taken."""


class Claimed(StoreAnswer, frozen=True, kw_only=True):
    """The lanes of a claim, when each has something next, and the queues of what is due in them."""

    claim: Ahead
    lanes: list[ClaimedLane]
    soon: list[int] | None
    queues: "list[ReadQueue]"


@lru_cache(maxsize=1_000)
def policy_of(packed: bytes) -> Policy:
    """Decoded policies by their JSON: thousands of queues have the same few."""
    return msgspec.json.decode(packed, type=Policy)


class ReadQueue(Struct, frozen=True, array_like=True, gc=False):
    """A queue as a look returns it."""

    id: int
    tenant: str
    name: str
    policy: Raw
    lanes: tuple[int, ...] = ()
    paused: bool = False
    resumed_at: int = 0
    block_kind: str = ""
    block_until: int = 0
    block_reason: str = ""
    block_streak: int = 0
    block_since: int = 0
    limits: tuple[tuple[int, ...], tuple[OpenHours, ...]] = ((), ())
    """The ledgers of its limits, and their hours."""

    def queue(self) -> Queue:
        """The queue as the owner of a lane knows it."""
        block = None
        if self.block_kind:
            spell = (self.block_reason, self.block_streak, self.block_since)
            block = Block(BlockKind(self.block_kind), self.block_until, *spell)
        who = (self.id, self.tenant, self.name, policy_of(bytes(self.policy)), self.lanes)
        return Queue(*who, block, self.paused, self.resumed_at, *self.limits)


class LookAnswer(StoreAnswer, frozen=True):
    """Rungs with the place of the look that they answer, lanes look by look, and queues."""

    rungs: list[RungRow] = field(default_factory=list)
    lanes: list[LaneSeen] = field(default_factory=list)
    queues: list[ReadQueue] = field(default_factory=list)


class Beaten(StoreAnswer, frozen=True):
    """How often the owner's lanes were taken away; None when it is not known any more."""

    reaped: int | None = None


class Lost(StoreAnswer, frozen=True):
    """Lanes that lost their owners."""

    lost: tuple[LostWorker, ...] = ()
    owned: bool = False
    wishes: int = 0


CLAIMED: Final = decoder(Claimed)
LOOKED: Final = decoder(LookAnswer)
BEATEN: Final = decoder(Beaten)
LOST: Final = decoder(Lost)
ANSWER: Final = decoder(StoreAnswer)
HELD: Final = msgspec.json.Decoder(set[tuple[int, int]])


class PostgresLeases(PostgresBatches):
    """Owns lanes, reads them, gives them back."""

    async def join(self) -> int:
        """A new owner number for this process."""
        who = (socket.gethostname(), os.getpid(), VERSION)
        return int(await self._one(self._side, "join", "join", *who))

    async def claim(
        self, owner: int, levels: Levels, pools: Names, limit: int, without: Names = ()
    ) -> Claim:
        """Own lanes that are ready at these levels."""
        safety = len(levels) > 1
        label = "safety poll" if safety else f"level {levels[0]}"
        if safety:
            await self.batches_asked()
        mine = self.bell.lanes.setdefault(owner, set())
        who = (owner, self._reaped.get(owner, 0), len(mine), socket.gethostname(), os.getpid())
        with self._floors.asked(owner, levels, whole=safety or not self.bell.alive) as asked:
            ask = (list(levels), asked.floors, list(pools), limit, list(without))
            after = self._turns.get(owner, "")
            values = (*who, *ask, after)
            self._check_open()
            if safety and (probe := self._listener.probe()):
                first, *rows = await self._side.rows(label, "claim_proving", (*values, probe))
            else:
                first, *rows = await self._side.rows(label, "claim", values)
            claimed = self._read_answer(first["answer"], CLAIMED)
            ahead = claimed.claim
            asked.next, asked.full = ahead.floor, ahead.full
            self._turns[owner] = ahead.after
        lanes = [row.lane() for row in claimed.lanes]
        mine.update([lane.id for lane in lanes])
        if ahead.arrivals:
            self._arrived()
        if safety:
            self._look_whole()
        ended = after and not ahead.full
        next_at_ms = soon_again(ahead.next, claimed.now) if ended else ahead.next
        told = (next_at_ms, ahead.full, ahead.owned, ahead.surplus)
        if claimed.soon is None:
            return Claim(lanes, *told)
        rungs, readings = first_in(rows)
        queues = {row.id: row.queue() for row in claimed.queues}
        views = [
            _first_view(lane, rungs.get(lane.id, []), queues, soon)
            for lane, soon in zip(lanes, claimed.soon, strict=True)
        ]
        return Claim(lanes, *told, views, claimed.now, readings)

    def _look_whole(self) -> None:
        now_s = self.clock.steady_s()
        if now_s - self._looked_whole_s > LOOK_WHOLE_S:
            self._looked_whole_s = now_s
            self.bell.ring_lanes()

    async def look(self, looks: Sequence[Look]) -> list[View]:
        """The rungs of owned lanes that became ready after a time, or are named."""
        text = await self._one(
            self._read,
            "look",
            "look",
            literal([look.lane for look in looks]),
            literal([look.after_ms for look in looks]),
            *flat([look.rungs for look in looks]),
            [queue for look in looks for queue in look.queues],
        )
        return _views(looks, self._read_answer(text, LOOKED))

    async def fetch(self, wants: Sequence[Want]) -> list[Reading]:
        """Due messages of rungs, in order."""
        self._check_open()
        found = found_in(await self._fetch("fetch", wants), wants)
        large = [place for place, one in enumerate(found) if one.large]
        if large:
            few = [wants[place] for place in large]
            again = found_in(await self._fetch("fetch_large", few), few)
            for place, one in zip(large, again, strict=True):
                found[place] = one
        return [one.reading(want) for one, want in zip(found, wants, strict=True)]

    async def _fetch(self, query: str, wants: Sequence[Want]) -> list[Record]:
        values = (
            literal([want.rung for want in wants]),
            literal([want.after_place for want in wants]),
            literal([want.after_id for want in wants]),
            literal([want.limit for want in wants]),
        )
        return await self._read.rows("fetch", query, values)

    async def mark(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Note that messages are about to be tried."""
        ours = await self._one(self._write, "mark", "mark", owner, lane.id, lane.epoch, list(ids))
        return bool(ours)

    async def unmark(self, ids: Sequence[int]) -> None:
        """Take the note back: messages were stopped without a lost lease."""
        _ = await self._one(self._write, "mark", "unmark", list(ids))  # it gives nothing

    async def release(self, owner: int, lanes: Sequence[Release]) -> dict[int, int]:
        """Give lanes back; returns when each of their levels is ready next."""
        numbers = [one.lane for one in lanes]
        mine = self.bell.lanes.setdefault(owner, set())
        mine.difference_update(numbers)
        who = (literal(numbers), literal([one.epoch for one in lanes]))
        text = await self._one(self._side, "release", "release", owner, *who, len(mine))
        rings = self._read_answer(text, ANSWER).rings
        return {ring.level: ring.at_ms for ring in rings if ring.owner is None}

    async def disown(self, owner: int, keep: Sequence[int]) -> None:
        """Give back all lanes but these."""
        text = await self._one(self._side, "release", "disown", owner, list(keep))
        self.bell.lanes.setdefault(owner, set()).intersection_update(keep)
        _ = self._read_answer(text, ANSWER)  # its rings are passed on

    async def beat(self, owner: int) -> bool:
        """Send a heartbeat; False when a peer has declared this owner dead."""
        lanes = len(self.bell.lanes.get(owner, ()))
        text = await self._one(self._write, "beat", "beat", owner, lanes)
        reaped = self._read_answer(text, BEATEN).reaped
        known = self._reaped.get(owner, 0)
        # Counted, not flagged: an answer that is lost on its way is given again.
        self._reaped[owner] = known if reaped is None else reaped
        return reaped is not None and reaped <= known

    async def held(self, owner: int) -> set[tuple[int, int]]:
        """The lanes that are the owner's, with their epochs."""
        return HELD.decode(await self._one(self._write, "beat", "held", owner))

    async def reap(self, dead_after_ms: int) -> Reaped:
        """Free the lanes of owners that were silent for too long."""
        lost = self._read_answer(await self._one(self._side, "reap", "reap", dead_after_ms), LOST)
        if lost.lost or lost.wishes:
            self.batches_left()  # it may have counted the last members, and asked no more
        return Reaped(lost.lost, lost.owned, lost.wishes)

    async def leave(self, owner: int) -> None:
        """Leave: nothing is owned any more."""
        self.bell.leave(owner)
        self.bell.lanes.pop(owner, None)
        self._floors.leave(owner)
        self._turns.pop(owner, None)
        # Its rings are passed on.
        _ = self._read_answer(await self._one(self._side, "leave", "leave", owner), ANSWER)


def _first_view(lane: Lane, rungs: list[Rung], queues: dict[int, Queue], soon: int) -> View:
    if len(rungs) == 1:
        told = [queues[rungs[0].queue]]
    else:
        told = [queues[number] for number in dict.fromkeys([rung.queue for rung in rungs])]
    return View(lane.id, rungs, told, soon, lane.circuit, lane.paused)


def _views(looks: Sequence[Look], looked: LookAnswer) -> list[View]:
    queues = {row.id: row.queue() for row in looked.queues}
    rungs: list[list[Rung]] = [[] for _ in looks]
    for place, *row in looked.rungs:
        rungs[place - 1].append(Rung(*row))
    answers = zip(looks, rungs, looked.lanes, strict=True)
    return [_view(ask, found, seen, queues) for ask, found, seen in answers]


def _view(ask: Look, rungs: list[Rung], seen: LaneSeen, queues: dict[int, Queue]) -> View:
    numbers = dict.fromkeys((*(rung.queue for rung in rungs), *ask.queues))
    told = [queues[number] for number in numbers if number in queues]
    return View(ask.lane, rungs, told, seen[0], Circuit(*seen[1:6]), seen[6])
