"""Watches endpoints: writes what they answered, tells of those that fail, disables those that do
nothing else, bounds what is held for them, and ends their draining."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Final

from msgspec.structs import replace

from postroad.model.endpoint import DISABLED, ENABLED, EndpointEntry, endpoint_id
from postroad.model.endpoint_life import (
    DEAD,
    HOUR_MS,
    WIDTH,
    EndpointHour,
    EndpointRules,
    LifeEvent,
    judge,
)
from postroad.model.errors import PostroadError, StoreError
from postroad.model.pace import LIFTED
from postroad.model.states import DeadReason
from postroad.observe.endpoint_figures import EndpointFigures
from postroad.ports.events import EventStore
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.verbs.dead_notices import DeadNotices
from postroad.verbs.endpoint_turns import EndpointTurns

WRITE_S: Final = 10.0
"""Counts are written so long after the first one: a process that is killed loses these."""
LOOK_S: Final = 300.0
"""How often endpoints are looked at while one is disabled, failing or draining."""
REST_S: Final = 3_600.0
"""How often otherwise."""
PAGE: Final = 500
TRIM_SLICE: Final = 500
TRIM_MAX: Final = 100_000
"""What is looked for at once: its ids are in memory."""
WATCH: Final = "watch endpoints"
END_S: Final = 2.0


class EndpointWatch:
    """Looks after the endpoints of all tenants. Every process does; a change is made once, since it
    is fenced by the endpoint's version."""

    def __init__(self, store: Store, turns: EndpointTurns, log: Log) -> None:
        self._store = store
        self._events = store if isinstance(store, EventStore) else None
        self._turns = turns
        self._log = log
        self._unwritten: list[EndpointHour] = []
        self._writing: asyncio.Task[None] | None = None
        self._unjudged: set[int] = set()
        """Queues whose counts are written and not judged yet: a watch that is stopped in between
        judges them at its end."""
        self._look_at_s = self._feeds_at_s = 0.0
        self._rules: dict[str, EndpointRules] = {}
        self._dead = DeadNotices(store.clock, turns, self._rules_of)

    async def run(self, figures: EndpointFigures) -> None:
        """Write and look, for as long as the engine lives."""
        if self._events is None:
            return
        clock, store = self._store.clock, self._events
        while True:
            try:
                if clock.steady_s() >= self._look_at_s:
                    watched = await self._look(store)
                    self._look_at_s = clock.steady_s() + (LOOK_S if watched else REST_S)
                await self._write(store, figures.taken())
                await self._tell_dead(store)
                self._log.store_works(WATCH)
            except StoreError as error:
                self._log.store_failed(WATCH, error)
                self._look_at_s = clock.steady_s() + WRITE_S
            await self._rest(figures)

    async def _rest(self, figures: EndpointFigures) -> None:
        """Wait for the next look, or, once something is counted, until it is written."""
        clock = self._store.clock
        if not self._unwritten:
            rest_s = max(0, self._look_at_s - clock.steady_s())
            timer = clock.later(1 + int(1000 * rest_s), figures.work.set)
            try:
                _ = await figures.work.wait()  # it is set
            finally:
                timer.cancel()
        if figures.counted or self._unwritten:
            await clock.sleep(WRITE_S)

    async def end(self, figures: EndpointFigures) -> None:
        """Write what there is now, within two seconds: before the road stops."""
        if self._events is None:
            return
        try:
            async with asyncio.timeout(END_S):
                await self._write(self._events, figures.taken())
                await self._tell_dead(self._events)
        except (StoreError, TimeoutError):
            self._log.warning("the last figures of endpoints could not be written in time")

    async def _write(self, store: EventStore, hours: Sequence[EndpointHour]) -> None:
        self._unwritten += hours
        while self._unwritten or self._writing:
            # A watch that is cancelled here leaves it at work: else what is given back meanwhile
            # would be counted twice.
            self._writing = self._writing or asyncio.ensure_future(self._count(store))
            await asyncio.shield(self._writing)
            await self._judge_all(store)
        if self._unjudged:
            await self._judge_all(store)

    async def _count(self, store: EventStore) -> None:
        rows, self._unwritten = _apart(self._unwritten)
        try:
            await store.endpoint_count(rows)
        except StoreError:
            self._unwritten = rows + self._unwritten
            raise
        finally:
            self._writing = None
        for one in rows:
            self._dead.add(one.queue, one.counts[DEAD])
        self._unjudged |= {one.queue for one in rows if one.failing_since_ms or one.succeeded}
        if any(one.failing_since_ms for one in rows):
            self._look_at_s = min(self._look_at_s, self._store.clock.steady_s() + LOOK_S)

    async def _tell_dead(self, store: EventStore) -> None:
        self._look_at_s = min(self._look_at_s, await self._dead.tell(store))

    async def _judge_all(self, store: EventStore) -> None:
        self._rules.clear()
        for entry in await store.endpoints_of(sorted(self._unjudged)):
            await self._one(entry, self._judge(store, entry))
        self._unjudged.clear()

    async def _look(self, store: EventStore) -> bool:
        """Look at all endpoints that are not simply enabled and healthy; whether there are any."""
        self._rules.clear()
        after, seen, now_s = 0, False, self._store.clock.steady_s()
        # There may be thousands of feeds: what waits for them is counted once an hour.
        feeds = now_s >= self._feeds_at_s
        while True:
            page = await store.endpoints_watched(after, PAGE, feeds=feeds)
            for entry in page:
                await self._one(entry, self._look_at(store, entry))
                life = entry.row.life
                seen |= bool(entry.row.url or life.secret_notice_ms) or life.state == DISABLED
            if len(page) < PAGE:
                self._feeds_at_s = now_s + REST_S if feeds else self._feeds_at_s
                return seen
            after = page[-1].row.id

    async def _one(self, entry: EndpointEntry, work: Coroutine[None, None, None]) -> None:
        """Do something about one endpoint. If that cannot be, the others have their turn."""
        try:
            await work
        except StoreError:
            raise
        except PostroadError as error:
            facts = {"endpoint": endpoint_id(entry.row.id), "error": str(error)}
            self._log.warning("an endpoint could not be looked after", **facts)

    async def _look_at(self, store: EventStore, entry: EndpointEntry) -> None:
        entry = await self._found_failing(store, entry)
        life, queue = entry.row.life, entry.row.queue
        if life.state == DISABLED or not entry.row.url:
            await self._trim(store, entry)
        elif life.failing_since_ms or life.draining_since_ms:
            _, oldest_ms, untried_ms = await store.endpoint_backlog(queue)
            if life.failing_since_ms and oldest_ms:
                # Something waits and nothing is delivered, also if an exhausted message holds it.
                now_ms = self._store.clock.now_ms()
                entry = replace(
                    entry, row=replace(entry.row, life=replace(life, failed_at_ms=now_ms))
                )
            if life.draining_since_ms and not 0 < untried_ms < life.draining_since_ms:
                await self._drained(entry)
                return
        await self._judge(store, entry)

    async def _found_failing(self, store: EventStore, entry: EndpointEntry) -> EndpointEntry:
        """Begin the spell of an endpoint that an exhausted message holds back, if none is known:
        what its process had counted was lost with it, and no try follows that could tell."""
        row = entry.row
        if row.life.state != ENABLED or row.life.failing_since_ms or not entry.policy.ordered:
            return entry
        head = await store.endpoint_held_head(row.queue)
        facts = await self._store.message_facts(row.tenant, head) if head is not None else None
        if facts is None:
            return entry
        now_ms = self._store.clock.now_ms()
        times = [one.started_at_ms for one in facts.tries if one.started_at_ms]
        since_ms, error = min(times, default=now_ms), facts.tries[-1].error if facts.tries else ""
        hour_ms, none = now_ms // HOUR_MS * HOUR_MS, (0,) * WIDTH
        spell = EndpointHour(row.queue, hour_ms, none, False, since_ms, now_ms, error)
        await store.endpoint_count([spell])
        return next(iter(await store.endpoints_of([row.queue])), entry)

    async def _judge(self, store: EventStore, entry: EndpointEntry) -> None:
        said = judge(entry, await self._rules_of(store, entry), self._store.clock.now_ms())
        if said is None:
            return
        event, life = said
        paused = True if event is LifeEvent.disabled else None
        # If somebody has changed it meanwhile, it is judged again later.
        _ = await self._turns.turn(entry, life, event, paused=paused)

    async def _trim(self, store: EventStore, entry: EndpointEntry) -> None:
        rules, now_ms = await self._rules_of(store, entry), self._store.clock.now_ms()
        edge_ms = now_ms - int(rules.hold_for_s * 1000) if rules.hold_for_s else 0
        queue, most = entry.row.queue, rules.hold_max
        found = await store.endpoint_excess(queue, edge_ms, most, TRIM_MAX)
        for reason, of_age in ((DeadReason.expired_held, True), (DeadReason.excess_held, False)):
            ids = [number for number, aged in found if aged is of_age]
            for first in range(0, len(ids), TRIM_SLICE):
                some = ids[first : first + TRIM_SLICE]
                # Fewer, if another process does the same or the endpoint was enabled.
                gone = await store.endpoint_bury(entry.row.id, some, reason)
                self._dead.add(entry.row.queue, gone)

    async def _drained(self, entry: EndpointEntry) -> None:
        """Nothing is left of what was held: the rate of draining is lifted."""
        life = replace(entry.row.life, draining_since_ms=0)
        # If somebody has changed it meanwhile, it is looked at again later.
        _ = await self._turns.turn(entry, life, drain=LIFTED)

    async def _rules_of(self, store: EventStore, entry: EndpointEntry) -> EndpointRules:
        tenant = entry.row.tenant
        if tenant not in self._rules:
            self._rules[tenant] = await store.endpoint_rules(tenant)
        return self._rules[tenant]


def _apart(hours: Sequence[EndpointHour]) -> tuple[list[EndpointHour], list[EndpointHour]]:
    """The first part of each endpoint, and the rest: a statement writes a row once."""
    first: dict[int, EndpointHour] = {}
    places = [first.setdefault(one.queue, one) for one in hours]
    rest = [one for one, kept in zip(hours, places, strict=True) if one is not kept]
    return list(first.values()), rest
