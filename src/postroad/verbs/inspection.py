"""Inspection of a road: pages of queues and lanes, counts, retry levels."""

from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.cursors import cursor, number_in, place_in
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput
from postroad.model.facts import LaneWindow
from postroad.model.ladder import DEFAULT_LADDER, queries_per_hour
from postroad.model.overview import LaneRow, Overview, PageOf, QueueRow
from postroad.model.states import NEVER, State
from postroad.ports.store import Store
from postroad.verbs.bounding import bounded
from postroad.verbs.paging import check_most, check_page

HOUR_S: Final = 3_600


class QueuePage(Struct, frozen=True):
    """A page of queues by name. `after` is for the next page; "" is the end."""

    queues: tuple[QueueRow, ...]
    after: str = ""


class LanePage(Struct, frozen=True):
    """A page of lanes by number. `after` is for the next page; "" is the end."""

    lanes: tuple[LaneRow, ...]
    after: str = ""


class LevelRow(Struct, frozen=True):
    """One retry level: what waits there, and how many queries polling it takes."""

    level: int
    delay_s: float
    poll_interval_s: float
    queries_per_hour_polling: int
    """While the bell is down."""
    queries: int
    """Claims of this process for this level so far."""
    waiting: int
    held: int
    oldest_due_ms: int | None
    """When the oldest waiting message was due, as in the counts of the road."""
    queries_per_hour: float = 0.0
    """Such claims an hour since deliveries began; in the first hour those so far."""
    whole: bool = True
    """Whether all messages were counted; else at least so many wait and are held."""


class LiveLanes(Protocol):
    """The lanes that this process serves."""

    def window(self, lane: int) -> LaneWindow | None:
        """The window of a lane, if it serves that."""

    def age_s(self) -> float:
        """How long it has served any."""


@bounded
class Inspection:
    """List queues, lanes and retry levels, and count messages."""

    def __init__(self, store: Store, intervals_s: tuple[float, ...], live: LiveLanes) -> None:
        self._store = store
        self._live = live
        self._intervals_s = intervals_s

    async def queues(
        self,
        *,
        limit: int = 100,
        after: str = "",
        trouble: bool = False,
        most: int = NEVER,
        tenant: str = DEFAULT_TENANT,
    ) -> QueuePage:
        """A page of queues, by name; with `trouble` only those that are blocked, paused, or held by
        an exhausted message. With `most` the messages at each retry level are counted up to so
        many."""
        check_page(limit)
        query = ("queues", tenant, trouble)
        which = PageOf(trouble, check_most(most))
        found = await self._store.queue_page(tenant, place_in(after, query), limit + 1, which)
        shown = tuple(found[:limit])
        return QueuePage(shown, cursor(shown[-1].queue, query) if len(found) > limit else "")

    async def lanes(
        self,
        *,
        limit: int = 100,
        after: str = "",
        trouble: bool = False,
        most: int = NEVER,
        tenant: str = DEFAULT_TENANT,
    ) -> LanePage:
        """A page of lanes, by number; with `trouble` only those that are paused or whose circuits
        are open. With `most` the messages at each retry level are counted up to so many."""
        check_page(limit)
        query = ("lanes", tenant, trouble)
        start = number_in(place_in(after, query), after) if after else 0
        which = PageOf(trouble, check_most(most))
        found = await self._store.lane_page(tenant, start, limit + 1, which)
        shown = tuple(replace(one, window=self._live.window(one.id)) for one in found[:limit])
        return LanePage(shown, cursor(str(shown[-1].id), query) if len(found) > limit else "")

    async def overview(self, *, most: int = NEVER, tenant: str | None = DEFAULT_TENANT) -> Overview:
        """Counts of all messages by state; with `most` by bounded look-ups, each up to so many."""
        if check_most(most) == NEVER:
            return await self._store.overview(tenant)
        if tenant is None:
            raise BadInput("most= counts the messages of one tenant: name it, or leave most= out")
        return await self._store.brief_overview(tenant, most)

    async def levels(
        self, *, most: int = NEVER, tenant: str | None = DEFAULT_TENANT
    ) -> list[LevelRow]:
        """The retry-level table with live counts; with `most` each up to so many."""
        said, asked = await self.overview(most=most, tenant=tenant), self._store.queries
        polling = queries_per_hour(self._intervals_s)
        hours = max(1.0, self._live.age_s() / HOUR_S)
        return [
            _level(level, interval_s, polling[level], said, (asked, hours), len(polling) - 1)
            for level, interval_s in enumerate(self._intervals_s)
        ]


def _level(
    level: int,
    interval_s: float,
    polling: int,
    said: Overview,
    asked: tuple[Mapping[str, int], float],
    last: int,
) -> LevelRow:
    here = [each for each in said.counts if min(each.level, last) == level]
    waiting, held = (
        sum(each.count for each in here if each.state is state)
        for state in (State.waiting, State.held)
    )
    dues = [each.oldest_due_ms for each in here if each.state is State.waiting]
    queries, hours = asked[0].get(f"level {level}", 0), asked[1]
    return LevelRow(
        level=level,
        delay_s=DEFAULT_LADDER.delay_ms(level) / 1000,
        poll_interval_s=interval_s,
        queries_per_hour_polling=polling,
        queries=queries,
        queries_per_hour=round(queries / hours, 1),
        whole=said.whole,
        waiting=waiting,
        held=held,
        oldest_due_ms=min(dues, default=None),
    )
