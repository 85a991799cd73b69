"""Timetables: the process that notes a tick first sends its message."""

from collections.abc import Sequence
from typing import Final

import msgspec

from postroad.model.states import NEVER
from postroad.model.ticks import Schedule, Tick, Timetabled
from postroad.stores.postgres.base import PostgresBase, StoreAnswer, decoder
from postroad.stores.postgres.sending import columns
from postroad.stores.ticks import LABEL, TimetableTables


class Ticked(StoreAnswer, frozen=True):
    """The schedule as it is stored then; None when it is gone."""

    schedule: Schedule | None = None


TICKED: Final = decoder(Ticked)
SCHEDULE: Final = msgspec.json.Decoder(Schedule | None)


class PostgresTicks(PostgresBase, TimetableTables):
    """Each tick is decided once in the whole fleet."""

    async def open_schedule(self, declared: Timetabled) -> Schedule | None:
        """The schedule of a timetable of code as it is stored; a new one is decided up to now."""
        plan = declared.plan
        values = (plan.tenant, plan.name, plan.cron, plan.tz, declared.queue, declared.missed)
        text = await self._one(self._side, LABEL, "open_schedule", *values)
        found: Schedule | None = SCHEDULE.decode(text)
        return found

    async def tick(
        self, schedule: Schedule, ticks: Sequence[Tick], until_ms: int, look_ms: int = NEVER
    ) -> Schedule | None:
        """Note what becomes of ticks and store their messages, leaving out those decided before."""
        drafts = [tick.draft for tick in ticks if tick.draft is not None]
        places = iter(range(1, len(drafts) + 1))
        text = await self._one(
            self._side,
            LABEL,
            "tick",
            schedule.tenant,
            schedule.name,
            schedule.version,
            schedule.cron,
            schedule.tz,
            until_ms,
            look_ms,
            [tick.at_ms for tick in ticks],
            [None if tick.draft is None else next(places) for tick in ticks],
            *columns(drafts),
        )
        return self._read_answer(text, TICKED).schedule
