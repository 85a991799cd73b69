"""LaneReconciliation: the lanes that the store holds for this owner are those that it serves."""

import asyncio
from collections.abc import Mapping

from postroad.engine.lane_worker import LaneWorker
from postroad.ports.store import Store


class LaneReconciliation:
    """After a claim whose answer was lost, or a release that failed, the store may hold lanes for
    this owner that nobody serves. Before the next claim this sends the store the lanes that are
    known here, and the store frees the others. One claim or reconciliation is made at a time:
    `lock`."""

    def __init__(self, store: Store, owner: int, lanes: Mapping[int, LaneWorker]) -> None:
        self.lock = asyncio.Lock()
        self._store = store
        self._owner = owner
        self._lanes = lanes
        self._claim_open = False
        """A claim is under way, or its answer was lost."""
        self._unsure = False
        """Lanes could not be given back, or not be taken in."""

    @property
    def needed(self) -> bool:
        """Whether the store may hold lanes for this owner that are unknown here."""
        return self._unsure or self._claim_open

    def claim_asked(self) -> None:
        """A claim leaves: until its answer comes, lanes may be ours and unknown."""
        self._claim_open = True

    def claim_answered(self) -> None:
        """The answer to a claim came."""
        self._claim_open = False

    def unsure(self) -> None:
        """Lanes could not be given back, or not be taken in."""
        self._unsure = True

    async def reconcile(self) -> None:
        """Have the store free lanes that are unknown here, where there may be any; under `lock`."""
        if not self.needed:
            return
        self._unsure = False  # what cannot be given back meanwhile sets it again
        try:
            await self._store.disown(self._owner, list(self._lanes))
        except BaseException:
            self._unsure = True
            raise
        self._claim_open = False

    async def lost_lanes(self) -> list[LaneWorker]:
        """Workers of lanes that the store holds for this owner no more, or at another epoch."""
        async with self.lock:
            held = await self._store.held(self._owner)
            workers = list(self._lanes.values())
            return [w for w in workers if (w.lane.id, w.lane.epoch) not in held]
