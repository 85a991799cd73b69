"""Sessions: one per lane, opened when first needed, closed when the lane is given back, or when it
is idle and too many are open."""

import asyncio
from collections.abc import Callable, Container
from typing import Final

from postroad.model.entities import LaneKey
from postroad.ports.log import Log
from postroad.ports.transport import Session, Transport

A_PLACE: Final = 8
"""Open sessions for each send that may be in flight: 4,096 by default. Thousands of idle lanes are
kept for seconds, and a webhook's session has 4 KB."""
BATCH: Final = 256


class Sessions:
    """Open sessions, by lane."""

    def __init__(self, transports: dict[str, Transport], in_flight_max: int, log: Log) -> None:
        self._transports = transports
        self._most = A_PLACE * in_flight_max
        self._log = log
        self._open: dict[int, Session] = {}
        """The oldest come first."""
        self._many = asyncio.Event()
        self._opening: dict[int, list[asyncio.Future[None]]] = {}
        """Tasks that wait for a session that is being opened."""

    def get(self, lane: int) -> Session | None:
        """The lane's session if it is open: the usual case, without waiting."""
        return self._open.get(lane)

    async def open(self, lane: int, key: LaneKey) -> Session:
        """The lane's session, opened by the first caller."""
        while lane in self._opening:
            opened = asyncio.get_running_loop().create_future()
            self._opening[lane].append(opened)
            _ = await opened  # it may have failed: look again
        if lane not in self._open:
            waiting = self._opening[lane] = []
            try:
                self._open[lane] = await self._transports[key.transport].open(key)
                if len(self._open) >= self._most + BATCH:
                    self._many.set()
            finally:
                del self._opening[lane]
                for waiter in waiting:
                    if not waiter.done():
                        waiter.set_result(None)
        return self._open[lane]

    async def close(self, lane: int) -> None:
        """Close the session of a lane, if it has one."""
        session = self._open.pop(lane, None)
        if session is None:
            return
        try:
            await session.close()
        except Exception as error:  # noqa: BLE001 - it is given up in any case
            self._log.warning("a session could not be closed cleanly", lane=lane, error=str(error))

    async def keep(self, lanes: Container[int]) -> None:
        """Close all sessions but those of these lanes."""
        for lane in [lane for lane in self._open if lane not in lanes]:
            if lane not in lanes:  # it may be ours again by now
                await self.close(lane)

    async def run(self, sends: Callable[[int], bool]) -> None:
        """When too many are open, close the oldest of lanes that are not sending."""
        while True:
            await self._many.wait()
            self._many.clear()
            for lane in list(self._open):
                if len(self._open) <= self._most:
                    break
                if not sends(lane):
                    await self.close(lane)
