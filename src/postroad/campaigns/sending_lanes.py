"""The lanes that a sender uses: one, or one for each site of its recipients."""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from postroad.campaigns.job_run import JobRun, OpenedChannel
from postroad.campaigns.lane_block import CredentialBlock, LaneBlock
from postroad.campaigns.sending_lane import SendingLane
from postroad.model.campaign import Row
from postroad.model.credential import Credential

LANE_AHEAD: Final = 200
"""Recipients of one site that are read ahead: others wait in the queue, for their server's sake."""
LOW: Final = 100
"""A lane with fewer of them wants more."""
SITES_AHEAD: Final = 1_000
"""Recipients of all sites that are read ahead while they can be sent to."""
LANES_KEPT: Final = 1_000
"""Lanes that have nothing to do are forgotten beyond that."""
LANES_MAX: Final = 5_000
"""With so many that wait for their servers nothing more is read."""


class LaneOpener(Protocol):
    """Opens what a credential sends through."""

    async def session(self, credential: Credential) -> OpenedChannel:
        """Open a session with a credential, for the queue of its messages."""

    async def route(self, credential: Credential, recipient: str) -> str:
        """Return the name of the queue of messages to a recipient: that of its site."""

    async def site_sessions(
        self, credential: Credential, queues: Sequence[str]
    ) -> Sequence[OpenedChannel]:
        """Open sessions for the queues of sites, made where they are new."""


class SendingLanes:
    """The lanes of one job."""

    def __init__(self, run: JobRun, opener: LaneOpener) -> None:
        self._run = run
        self._opener = opener
        self._by_site = run.context.opened.by_site
        self._lanes: dict[str, SendingLane] = {}
        """Lanes by their queues' names; the one that was used last stands last."""
        if not self._by_site:
            self._add(run.context.opened)

    @property
    def working(self) -> bool:
        """Whether a lane has something to send."""
        return any(lane.working for lane in self._lanes.values())

    @property
    def missing(self) -> bool:
        """Whether some are left in the queue that were read: their lanes are full or blocked."""
        return any(lane.missed_n for lane in self._lanes.values())

    @property
    def wants_more(self) -> bool:
        """Whether more is to be read: little is left that can be sent now."""
        if len(self._lanes) >= LANES_MAX:
            return False
        ahead = sum(lane.ahead for lane in self._lanes.values() if not lane.left_s)
        return ahead < (SITES_AHEAD if self._by_site else LOW)

    def missed_after(self) -> int | None:
        """Before whom the queue is read again for a lane that has room; None: for nobody."""
        places = [
            lane.missed_n
            for lane in self._lanes.values()
            if lane.missed_n and lane.ahead < LOW and not lane.left_s
        ]
        return min(places) - 1 if places else None

    def passed(self, after: int, last: int, end: int) -> None:
        """The queue was read from a place to another; it has been read once up to the end."""
        for lane in self._lanes.values():
            lane.passed(after, last, end)

    def is_full(self, lane: SendingLane) -> bool:
        """Whether a lane takes no more for now."""
        return self._by_site and lane.ahead >= LANE_AHEAD

    async def of(self, rows: Sequence[Row]) -> list[SendingLane]:
        """Return the lane of each recipient."""
        if not self._by_site:
            return [*self._lanes.values()] * len(rows)
        credential = self._run.context.credential
        names = await asyncio.gather(
            *(self._opener.route(credential, row.recipient) for row in rows)
        )
        used = dict.fromkeys(names)
        await self._forget(len(used))
        if new := [name for name in used if name not in self._lanes]:
            for opened in await self._opener.site_sessions(credential, new):
                self._add(opened)
        for name in used:
            self._lanes[name] = self._lanes.pop(name)
        return [self._lanes[name] for name in names]

    async def _forget(self, room: int) -> None:
        for name, lane in list(self._lanes.items()):
            if len(self._lanes) + room <= LANES_KEPT:
                return
            if lane.idle:
                del self._lanes[name]
                await lane.close()

    async def look(self) -> None:
        """See whether hours have changed that recipients wait for."""
        for lane in list(self._lanes.values()):
            if lane.queue.hours or not self._by_site:
                await lane.look()

    def wake(self) -> None:
        """Let all of them see that the sender stops."""
        for lane in self._lanes.values():
            lane.wake()

    async def close(self) -> None:
        """Close all sessions."""
        if self._by_site:
            await self._run.context.opened.session.close()
        for lane in self._lanes.values():
            await lane.close()

    def _add(self, opened: OpenedChannel) -> None:
        deps, context = self._run.deps, self._run.context
        shared = None if self._by_site else CredentialBlock(deps.store, context.credential)
        block = LaneBlock(deps.road, opened.queue.lanes[0], deps.clock, shared)
        self._lanes[opened.queue.name] = SendingLane(self._run, opened, block)
