"""The slot ledger in the database: one function call for each reservation."""

from collections.abc import Sequence
from typing import Final

import msgspec

from postroad.model.entities import LaneKey
from postroad.model.hours import OpenHours
from postroad.model.named_limits import NamedLimit, NewLimit
from postroad.model.pace import LIFTED, Ask, Limit, Reserved
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
        _ = await self._limit("limit_queue", limit, queue)  # a queue that is gone is an error

    async def limit_lane(self, lane: int, limit: Limit | None) -> bool:
        """Set the limit of a lane's credential; False when there is no such lane."""
        return await self._limit("limit_lane", limit, lane)

    async def put_limit(self, new: NewLimit) -> None:
        """Set a named limit, for the lanes that its pattern means."""
        values = (new.tenant, new.name, new.lanes, new.until_ms)
        _ = await self._limit("limit_name", new.limit, *values)  # it is known now

    async def drop_limit(self, tenant: str, name: str) -> bool:
        """Lift a named limit; False when there is none."""
        return await self._limit("limit_name", None, tenant, name, "", 0)

    async def named_limits(self, tenant: str | None) -> list[NamedLimit]:
        """List the named limits of a tenant, or of all, that have not ended."""
        self._check_open()
        rows = await self._side.rows("control", "named_limits", (tenant,))
        return [NamedLimit(*row.values()) for row in rows]

    async def _limit(self, query: str, limit: Limit | None, *key: int | str) -> bool:
        """Write a limit by its key, and pass its rings on; False when there is no such thing."""
        text = await self._one(self._side, "control", query, *key, packed(limit))
        return self._read_answer(text, LIMITED).known


def packed(limit: Limit | None) -> str:
    """Pack a limit for a statement; None lifts it."""
    new = limit or LIFTED
    hours = new.hours or OpenHours("", "")
    values = {
        "spec": new.text,
        "cost": new.cost,
        "spacing_us": new.spacing_us,
        "counted": new.counted,
        "hours": hours.text,
        "zone": hours.zone,
    }
    return msgspec.json.encode(values).decode()
