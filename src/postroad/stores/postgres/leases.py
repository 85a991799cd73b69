"""Who owns which lane, and what its owner reads."""

import os
import socket
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct, field

from postroad.model.circuit import Circuit
from postroad.model.record import Claim, Look, Reading, Reaped, Release, View, Want
from postroad.model.states import NEVER
from postroad.model.words import Lane, Message, Queue, Rung
from postroad.stores.postgres.base import Answer, Base, decoder, flat

READ_BYTES_MAX: Final = 4 << 20
"""One reading stops here, as in fetch_v1: bodies may be a megabyte each."""
LOOK_WHOLE_S: Final = 60.0
"""Owned lanes are looked at whole this often: a ring from another process may have been lost."""


class Claimed(Answer, frozen=True):
    """Lanes, and what is ahead."""

    lanes: list[Lane] = field(default_factory=list)
    next: dict[int, int] = field(default_factory=dict)
    full: bool = False
    owned: bool = False
    surplus: int = 0
    arrivals: bool = False


class Seen(Struct, frozen=True):
    """One lane as it was looked at."""

    rungs: list[tuple[int, int, int, int, int, int, int]]
    next: int
    circuit: Circuit
    paused: bool


class Looked(Answer, frozen=True):
    """Lanes as they were looked at, and the queues of their rungs."""

    views: list[Seen] = field(default_factory=list)
    queues: list[Queue] = field(default_factory=list)


class Beaten(Answer, frozen=True):
    """How often the owner's lanes were taken away; None when it is not known any more."""

    reaped: int | None = None


class Lost(Answer, frozen=True):
    """Lanes that lost their owners."""

    lost: int = 0
    owned: bool = False


CLAIMED: Final = decoder(Claimed)
LOOKED: Final = decoder(Looked)
BEATEN: Final = decoder(Beaten)
LOST: Final = decoder(Lost)
ANSWER: Final = decoder(Answer)
HELD: Final = msgspec.json.Decoder(set[tuple[int, int]])


class LeaseVerbs(Base):
    """Owning, reading, giving back."""

    async def join(self) -> int:
        """A new owner number for this process."""
        return int(await self._one(self._side, "join", "join", socket.gethostname(), os.getpid()))

    async def claim(
        self, owner: int, levels: Sequence[int], pools: Sequence[str], limit: int
    ) -> Claim:
        """Own lanes that are ready at these levels."""
        safety = len(levels) > 1
        label = "safety poll" if safety else f"level {levels[0]}"
        who = (owner, self._reaped.get(owner, 0), socket.gethostname(), os.getpid())
        text = await self._one(self._side, label, "claim", *who, list(levels), list(pools), limit)
        claimed = self._read_answer(text, CLAIMED)
        self.bell.lanes.setdefault(owner, set()).update(lane.id for lane in claimed.lanes)
        if claimed.arrivals:
            self._arrived()
        if safety:
            self._look_whole()
        return Claim(
            claimed.lanes, claimed.next, claimed.full, claimed.owned, surplus=claimed.surplus
        )

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
            [look.lane for look in looks],
            [look.after_ms for look in looks],
            *flat([look.rungs for look in looks]),
            [queue for look in looks for queue in look.queues],
        )
        looked = self._read_answer(text, LOOKED)
        queues = {queue.id: queue for queue in looked.queues}
        return [_view(ask, seen, queues) for ask, seen in zip(looks, looked.views, strict=True)]

    async def fetch(self, wants: Sequence[Want]) -> list[Reading]:
        """Due messages of rungs, in order."""
        self._check_open()
        values = (
            [want.rung for want in wants],
            [want.after_place for want in wants],
            [want.after_id for want in wants],
            [want.limit for want in wants],
        )
        rows = await self._read.rows("fetch", "fetch", values)
        messages: list[list[Message]] = [[] for _ in wants]
        next_due_ms = [NEVER] * len(wants)
        for row in rows:
            *fields, want = row
            if row["body"] is None:
                next_due_ms[want - 1] = row["due"]
            else:
                messages[want - 1].append(Message(*fields))
        return [
            _reading(want, found, due_ms)
            for want, found, due_ms in zip(wants, messages, next_due_ms, strict=True)
        ]

    async def mark(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Note that these are about to start."""
        ours = await self._one(self._write, "mark", "mark", owner, lane.id, lane.epoch, list(ids))
        return bool(ours)

    async def unmark(self, ids: Sequence[int]) -> None:
        """They were stopped without a lost lease."""
        await self._one(self._write, "mark", "unmark", list(ids))

    async def release(self, owner: int, lanes: Sequence[Release]) -> dict[int, int]:
        """Give lanes back; answers when each level of them is ready next."""
        numbers, epochs = [one.lane for one in lanes], [one.epoch for one in lanes]
        text = await self._one(self._side, "release", "release", owner, numbers, epochs)
        self.bell.lanes.setdefault(owner, set()).difference_update(numbers)
        rings = self._read_answer(text, ANSWER).rings
        return {ring.level: ring.at_ms for ring in rings if ring.owner is None}

    async def disown(self, owner: int, keep: Sequence[int]) -> None:
        """Give back all lanes but these."""
        text = await self._one(self._side, "release", "disown", owner, list(keep))
        self.bell.lanes[owner] = set(keep)
        self._read_answer(text, ANSWER)

    async def beat(self, owner: int) -> bool:
        """Still here; False when a peer has declared this owner dead."""
        text = await self._one(self._write, "beat", "beat", owner)
        reaped = self._read_answer(text, BEATEN).reaped
        known = self._reaped.get(owner, 0)
        # Counted, not flagged: an answer that is lost on its way is given again.
        self._reaped[owner] = known if reaped is None else reaped
        return reaped is not None and reaped <= known

    async def held(self, owner: int) -> set[tuple[int, int]]:
        """The lanes that are the owner's, with their epochs."""
        return HELD.decode(await self._one(self._write, "beat", "held", owner))

    async def reap(self, dead_after_ms: int) -> Reaped:
        """Free the lanes of owners that were not heard from."""
        lost = self._read_answer(await self._one(self._side, "reap", "reap", dead_after_ms), LOST)
        return Reaped(lost.lost, lost.owned)

    async def leave(self, owner: int) -> None:
        """Going away; nothing is owned any more."""
        self.bell.leave(owner)
        self.bell.lanes.pop(owner, None)
        self._read_answer(await self._one(self._side, "leave", "leave", owner), ANSWER)


def _view(ask: Look, seen: Seen, queues: dict[int, Queue]) -> View:
    rungs = [Rung(*row) for row in seen.rungs]
    numbers = dict.fromkeys((*(rung.queue for rung in rungs), *ask.queues))
    told = [queues[number] for number in numbers if number in queues]
    return View(ask.lane, rungs, told, seen.next, seen.circuit, seen.paused)


def _reading(want: Want, messages: list[Message], next_due_ms: int) -> Reading:
    full = len(messages) >= want.limit
    if not full and len(messages) > 4:
        full = sum(len(message.body) for message in messages) > READ_BYTES_MAX
    return Reading(want.rung, messages, NEVER if full else next_due_ms, full)
