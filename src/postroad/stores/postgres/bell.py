"""The bell of the fleet: rings in this process at once, to the others by NOTIFY."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct, field

from postroad.model.errors import StoreError
from postroad.model.ladder import LAST_POLLED_LEVEL
from postroad.observe.tasks import Tasks
from postroad.ports.bell import WAITERS, Listener
from postroad.ports.clock import Clock
from postroad.stores.bell import LocalBell, Ring
from postroad.stores.postgres.floors import Floors

GATHER_MS: Final = 5
"""Rings for other processes are gathered for so long. Sent inside the accepting transaction, each
would hold PostgreSQL's one lock on notifications until the disk has answered."""
PAYLOAD_BYTES_MAX: Final = 7_500
ENDED_MAX: Final = 300
"""Ids in one payload, at most 20 characters each."""
WANTED_MAX: Final = 10_000
"""Messages whose end other processes wait for, of which this one knows."""
RUNGS_MAX: Final = 8
"""A lane with rings for more rungs than this is looked at whole."""
RETRY_MS: Final = 1_000
RINGS_AT_ONCE: Final = 256
RINGS_EVERY_MS: Final = 10
"""Looking at tens of thousands of lanes at once would hold up everything else for a second."""


class Notice(Struct, frozen=True, omit_defaults=True):
    """The payload of a notification."""

    rings: list[Ring] = field(default_factory=list)
    expiry: int = 0
    arrivals: bool = False
    probe: int = 0
    own: str = ""
    """Which of campaigns, replays and timetables have work."""
    ended: list[int] = field(default_factory=list)
    """Jobs that ended, of handlers whose results are kept."""
    wanted: list[int] = field(default_factory=list)
    """Messages whose end a process waits for."""
    hub: bool = False
    """A process asks whether the hub is alive, or has taken its place."""


NOTICES: Final = msgspec.json.Decoder(Notice)


class FleetBell(LocalBell):
    """Rings in this process directly and in others by NOTIFY. The listener sets `alive`; rings
    inside the process are never lost."""

    def __init__(
        self,
        clock: Clock,
        send: Callable[[str], Awaitable[object]],
        arrived: Callable[[], None],
        floors: Floors,
        tasks: Tasks,
    ) -> None:
        super().__init__()
        self.alive = False
        self.lanes: dict[int, set[int]] = {}
        """Lanes that owners of this process have, or had a moment ago."""
        self.on_hub: Callable[[], None] = lambda: None
        self._clock = clock
        self._send = send
        self._arrived = arrived
        self._floors = floors
        self._tasks = tasks
        self._outgoing: dict[tuple[int | None, int, int, int], Ring] = {}
        self._ended: list[int] = []
        self._asked: list[int] = []
        self._wanted: dict[int, bool] = {}
        """Messages whose end is waited for in other processes, the longest known first."""
        self._expiry_ms = 0
        self._expiry_told_ms = 0
        self._flushing: asyncio.Task[None] | None = None
        self._closed = False

    def listen(self, owner: int, listener: Listener) -> None:
        """Add a listener."""
        super().listen(owner, listener)
        self._arrived()

    @property
    def heard(self) -> bool:
        """Whether this process has a listener."""
        return bool(self._listeners)

    # In this process

    def ring(self, rings: Sequence[Ring]) -> None:
        """Wake the owners and pollers that rings name, here and in other processes. (Pollers
        elsewhere were notified by the transaction itself.)"""
        self._ring_here(rings)
        for ring in rings:
            if ring.owner == WAITERS:
                self.ring_awaited([ring.lane])  # elsewhere only where it was asked for
            # Of those who read a lane there may be some in every process.
            elif ring.owner is not None and ring.owner not in self._listeners:
                self._keep(ring)
        if self._outgoing:
            self._flush_soon()

    def _ring_here(self, rings: Sequence[Ring]) -> None:
        for ring in rings:
            if ring.owner is None:
                self._floors.ring(ring.level, ring.at_ms)
        super().ring(rings)

    def ring_expiry(self, at_ms: int) -> None:
        """Note when something expires. Others are notified only of a time earlier than they
        know."""
        super().ring_expiry(at_ms)
        now_ms = self._clock.now_ms()
        if at_ms < self._expiry_told_ms or self._expiry_told_ms <= now_ms:
            self._expiry_ms = self._expiry_told_ms = at_ms
            self._flush_soon()

    def ring_ended(self, numbers: Iterable[int]) -> None:
        """Wake those who wait for the end of messages, here and in other processes."""
        told = list(numbers)
        self._wake(told)
        self._ended += told
        self._flush_soon()

    def want(self, number: int) -> None:
        """Ask the other processes to ring when a message has ended there."""
        self._asked.append(number)
        self._flush_soon()

    @property
    def awaits(self) -> bool:
        """Whether the end of any message is waited for, here or elsewhere."""
        return bool(self._waits or self._wanted)

    def ring_awaited(self, numbers: Iterable[int]) -> None:
        """Wake those who wait for the end of messages, here and where it was asked for."""
        told = list(numbers)
        self._wake(told)
        elsewhere = [number for number in told if self._wanted.pop(number, False)]
        if elsewhere:
            self._ended += elsewhere
            self._flush_soon()

    def _take_wanted(self, numbers: Iterable[int]) -> None:
        self._wanted |= dict.fromkeys(numbers, True)
        while len(self._wanted) > WANTED_MAX:
            del self._wanted[next(iter(self._wanted))]  # that one looks again by himself

    def ring_lanes(self) -> None:
        """Make the owners here look at all their lanes, some at a time where there are many: a ring
        may have been lost."""
        self._ring_some(
            [Ring(owner, lane, 0, 0, 0) for owner, lanes in self.lanes.items() for lane in lanes]
        )

    def _ring_some(self, rings: Sequence[Ring]) -> None:
        self._ring_here(rings[:RINGS_AT_ONCE])
        if len(rings) > RINGS_AT_ONCE:
            # It is not taken back.
            _ = self._clock.later(RINGS_EVERY_MS, partial(self._ring_some, rings[RINGS_AT_ONCE:]))

    def ring_all(self) -> None:
        """Wake all pollers and owners here: it is not known what was missed."""
        now_ms = self._clock.now_ms()
        self._floors.forget()
        self._ring_here([Ring(None, 0, 0, n, now_ms) for n in range(LAST_POLLED_LEVEL + 1)])
        self.ring_lanes()
        super().ring_expiry(now_ms)
        self._wake(list(self._waits))
        for event in [event for events in self.readers.values() for event in events]:
            event.set()
        self._arrived()
        self.ring_own()
        self.on_hub()

    # From and to other processes

    def hear(self, payload: str, *, own: bool) -> int:
        """Take in a notification; those of this process were rung before. Returns its probe."""
        try:
            notice = NOTICES.decode(payload)
        except msgspec.DecodeError:
            return 0  # somebody else uses our channel
        if notice.arrivals and self._listeners:
            self._arrived()
        if notice.own:
            self.ring_own(notice.own)
        if notice.hub:
            self.on_hub()
        if not own:
            self._ring_here(notice.rings)
            self._wake(notice.ended)
            self._take_wanted(notice.wanted)
            if notice.expiry:
                super().ring_expiry(notice.expiry)
        return notice.probe

    def _keep(self, ring: Ring) -> None:
        key = (ring.owner, ring.lane, ring.rung, ring.recall)
        known = self._outgoing.get(key)
        if known is None or ring.at_ms < known.at_ms:
            self._outgoing[key] = ring

    def _flush_soon(self) -> None:
        if self._flushing is None and not self._closed:
            self._flushing = self._tasks.start(self._flush(), "wake-ups of other processes")

    async def _flush(self) -> None:
        try:
            await self._clock.sleep(GATHER_MS / 1000)
            while self._outgoing or self._expiry_ms or self._ended or self._asked:
                await self._send_gathered()
        finally:
            self._flushing = None

    async def _send_gathered(self) -> None:
        rings, self._outgoing = list(self._outgoing.values()), {}
        expiry_ms, self._expiry_ms = self._expiry_ms, 0
        ended, self._ended = self._ended, []
        asked, self._asked = self._asked, []
        try:
            for payload in (*payloads(rings, expiry_ms, ended), *wanted_payloads(asked)):
                _ = await self._send(payload)  # NOTIFY answers nothing
        except StoreError:
            if self._closed:
                return
            for ring in rings:
                self._keep(ring)
            # Of these the newest: who waits looks again by himself, though not for a minute.
            self._ended = [*ended, *self._ended][-WANTED_MAX:]
            self._asked = [*asked, *self._asked][-WANTED_MAX:]
            self._expiry_ms = self._expiry_ms or expiry_ms
            await self._clock.sleep(RETRY_MS / 1000)

    async def close(self) -> None:
        """Send what was gathered, then stop."""
        self._closed = True
        if self._flushing is not None:
            await self._flushing


def payloads(rings: list[Ring], expiry_ms: int, ended: Sequence[int] = ()) -> list[str]:
    """Rings for other processes, in payloads that NOTIFY accepts."""
    rungs: dict[int, int] = {}
    for ring in rings:
        rungs[ring.lane] = rungs.get(ring.lane, 0) + (ring.recall == 0)
    whole = {
        ring.lane: Ring(ring.owner, ring.lane, 0, 0, 0)
        for ring in rings
        if rungs[ring.lane] > RUNGS_MAX
    }
    sent = [ring for ring in rings if ring.recall or ring.lane not in whole] + [*whole.values()]
    size = max(1, PAYLOAD_BYTES_MAX // 120)
    pieces = [sent[start : start + size] for start in range(0, len(sent), size)] or [[]]
    if not rings and not expiry_ms:
        pieces = []
    notices = [Notice(piece, expiry_ms if n == 0 else 0) for n, piece in enumerate(pieces)]
    starts = range(0, len(ended), ENDED_MAX)
    notices += [Notice(ended=list(ended[start : start + ENDED_MAX])) for start in starts]
    return [msgspec.json.encode(notice).decode() for notice in notices]


def wanted_payloads(wanted: Sequence[int]) -> list[str]:
    """Messages whose end is waited for, in payloads that NOTIFY accepts."""
    notices = [
        Notice(wanted=list(wanted[n : n + ENDED_MAX])) for n in range(0, len(wanted), ENDED_MAX)
    ]
    return [msgspec.json.encode(notice).decode() for notice in notices]
