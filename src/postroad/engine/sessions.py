"""Sessions: one per lane, opened when first needed, closed when the lane is given back."""

import asyncio

from postroad.model.words import LaneKey
from postroad.ports.transport import Session, Transport


class Sessions:
    """Open ways to servers, by lane."""

    def __init__(self, transports: dict[str, Transport]) -> None:
        self._transports = transports
        self._open: dict[int, Session] = {}
        self._opening: dict[int, asyncio.Lock] = {}

    def get(self, lane: int) -> Session | None:
        """The lane's session if it is open: the usual case, without waiting."""
        return self._open.get(lane)

    async def open(self, lane: int, key: LaneKey) -> Session:
        """The lane's session, opened by the first who asks."""
        async with self._opening.setdefault(lane, asyncio.Lock()):
            if lane not in self._open:
                self._open[lane] = await self._transports[key.transport].open(key)
            return self._open[lane]

    async def close(self, lane: int) -> None:
        """Give one back."""
        self._opening.pop(lane, None)
        session = self._open.pop(lane, None)
        if session is not None:
            await session.close()

    async def close_all(self) -> None:
        """Give all back."""
        for lane in list(self._open):
            await self.close(lane)
