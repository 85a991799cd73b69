"""The slot ledger in the database: one function call for each reservation."""

from collections.abc import Sequence
from typing import Final

import msgspec

from postroad.model.entities import LaneKey
from postroad.model.pace import Ask, Limit, Reserved
from postroad.stores.postgres.base import PostgresBase, StoreAnswer, decoder


class Limited(StoreAnswer, frozen=True):
    """Whether what was to be limited is known."""

    known: bool = True


LIMITED: Final = decoder(Limited)
RESERVED: Final = msgspec.json.Decoder(Reserved)


class PostgresPacing(PostgresBase):
    """Reservations and limits."""

    async def reserve(self, asks: Sequence[Ask]) -> Reserved:
        """Take slots, or say when to ask again, in one transaction."""
        packed = msgspec.json.encode(asks).decode()
        return RESERVED.decode(await self._one(self._pace, "pace", "reserve", packed))

    async def ledgers(self, key: LaneKey) -> tuple[int, ...]:
        """The ledgers that a start on this credential takes a slot of."""
        self._check_open()
        values = (key.tenant, key.transport, key.server, key.credential)
        return tuple(row["id"] for row in await self._side.rows("pace", "ledgers", values))

    async def limit_queue(self, queue: int, limit: Limit | None) -> None:
        """Set a queue's own limit; None lifts it."""
        text = await self._one(self._side, "control", "limit_queue", queue, *_values(limit))
        _ = self._read_answer(text, LIMITED)  # its rings are passed on

    async def limit_lane(self, lane: int, limit: Limit | None) -> bool:
        """Set the limit of a lane's credential; False when there is no such lane."""
        text = await self._one(self._side, "control", "limit_lane", lane, *_values(limit))
        return self._read_answer(text, LIMITED).known


def _values(limit: Limit | None) -> tuple[str, int, int, str]:
    if limit is None:
        return "", 1, 0, "[]"
    counted = msgspec.json.encode(limit.counted).decode()
    return limit.text, limit.cost, limit.spacing_us, counted
