"""Timetables: whoever notes a tick first sends its message."""

from collections.abc import Sequence
from typing import Final

import msgspec

from postroad.model.errors import StoreError
from postroad.model.ticks import Schedule, Tick
from postroad.stores.postgres.base import PostgresBase, StoreAnswer, decoder
from postroad.stores.postgres.sending import columns
from postroad.stores.ticks import TickNotes


class Ticked(StoreAnswer, frozen=True):
    """The schedule as it is stored then."""

    schedule: Schedule | None = None


TICKED: Final = decoder(Ticked)
SCHEDULE: Final = msgspec.json.Decoder(Schedule)


class PostgresTicks(TickNotes, PostgresBase):
    """Each tick is decided once in the whole fleet."""

    async def open_schedule(self, schedule: Schedule) -> Schedule:
        """The schedule of that name as it is stored; a new one is decided up to now."""
        values = (schedule.name, schedule.cron, schedule.tz)
        return SCHEDULE.decode(await self._one(self._side, "cron", "open_schedule", *values))

    async def tick(self, schedule: Schedule, ticks: Sequence[Tick], until_ms: int) -> Schedule:
        """Note what becomes of ticks and store their messages, leaving out those decided before."""
        drafts = [tick.draft for tick in ticks if tick.draft is not None]
        places = iter(range(1, len(drafts) + 1))
        text = await self._one(
            self._side,
            "cron",
            "tick",
            schedule.name,
            schedule.cron,
            schedule.tz,
            until_ms,
            [tick.at_ms for tick in ticks],
            [None if tick.draft is None else next(places) for tick in ticks],
            *columns(drafts),
        )
        stored = self._read_answer(text, TICKED).schedule
        if stored is None:
            raise StoreError(f"the schedule {schedule.name!r} is not in this road: open it first")
        return stored
