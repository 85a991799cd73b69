"""The replay worker of a process: it does the slices of replays, which are jobs in the store, so
that any process can go on with them."""

import asyncio
from collections.abc import Callable
from functools import cache, partial
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.bodies import read_if_json
from postroad.model.endpoint import ENABLED, EndpointSet, endpoint_id
from postroad.model.errors import PostroadError, StoreError, TenantFull
from postroad.model.event import EventRow
from postroad.model.ids import IdSequence, first_after
from postroad.model.matching import SPEC, Matcher
from postroad.model.replay import (
    SLICE_MAX,
    ReplayJob,
    ReplayPair,
    ReplaySlice,
    ReplayState,
    ReplayWhat,
    pair_of,
    replay_id,
    slice_count,
)
from postroad.ports.clock import Clock
from postroad.ports.events import EventStore
from postroad.ports.log import Log
from postroad.ports.replays import ReplayStore

LOOK: Final = "look for replays"
GO_ON: Final = "go on with a replay"
RETRY_S: Final = 5.0
FULL_S: Final = 10.0
IDLE_S: Final = 3_600.0
"""Without a wake-up it looks once an hour."""
WITH_BODIES: Final = 20
"""Events of a page whose bodies are read for a filter: each may have a megabyte."""
CHANNELS: Final = msgspec.json.Decoder(frozenset[str])


class Stopped(Exception):
    """A replay cannot go on; `args` are its new state and why."""


class Targets(Struct, frozen=True):
    """The endpoints that a replay sends to."""

    matcher: Matcher
    filtered: bool
    """Whether bodies are needed to match."""
    since: int
    """The endpoint's id, where only one is meant: events from before cannot have reached it."""


class EventWalk:
    """Walks over the kept events of a replay, and matches them with the endpoints of now."""

    def __init__(self, store: EventStore, replays: ReplayStore, ids: IdSequence) -> None:
        self._store = store
        self._replays = replays
        self._ids = ids

    async def targets(self, job: ReplayJob) -> Targets:
        """Read the endpoints that a replay sends to; Stopped when there is none."""
        wanted = job.spec.endpoint
        found = await self._store.endpoint_set(job.tenant)
        enabled = [one for one in found.endpoints if one.row.life.state == ENABLED]
        entries = [one for one in enabled if wanted in (0, one.row.id)]
        if wanted and not entries:
            raise Stopped(*await self._gone(job.tenant, wanted))
        filtered = any(SPEC.decode(one.row.spec).filter is not None for one in entries)
        return Targets(Matcher(EndpointSet(found.version, entries)), filtered, wanted)

    async def _gone(self, tenant: str, wanted: int) -> tuple[ReplayState, str]:
        name = endpoint_id(wanted)
        found = await self._store.endpoint_page(tenant, wanted - 1, 1)
        if found and found[0].row.id == wanted:
            return ReplayState.paused, f"{name} is disabled: enable it, then resume the replay"
        return ReplayState.cancelled, f"{name} was deleted"

    async def step(self, job: ReplayJob, to: Targets, count: int, now_ms: int) -> ReplaySlice:
        """Pair the next events with their endpoints, about so many."""
        limit = WITH_BODIES if to.filtered else SLICE_MAX
        span = (job.cursor, first_after(job.spec.until_ms))
        events = await self._replays.events_from(job.tenant, span, limit, bodies=to.filtered)
        pairs: list[ReplayPair] = []
        cursor = job.cursor
        for event in events:
            pairs += self._pairs(event, to, now_ms)
            cursor = event.id
            if len(pairs) >= count:
                break
        ended = len(events) < limit and (not events or cursor == events[-1].id)
        version = to.matcher.version
        return ReplaySlice(job, 0, now_ms, tuple(pairs), cursor, ended, version)

    def _pairs(self, event: EventRow, to: Targets, now_ms: int) -> list[ReplayPair]:
        body = cache(partial(read_if_json, event.body))
        found = to.matcher.match(event.type, CHANNELS.decode(event.channels), body, now_ms)
        make = partial(pair_of, event, since=to.since)
        return [make(target, self._ids.next(now_ms)) for target in found]


class ReplayWorker:
    """Does slices of all replays that have work, one after the other."""

    def __init__(
        self,
        store: ReplayStore,
        walk: EventWalk,
        owner: int,
        clock: Clock,
        log: Log,
        admit: Callable[[str], None],
    ) -> None:
        self._store = store
        self._walk = walk
        self._owner = owner
        self._clock = clock
        self._log = log
        self._admit = admit
        """Raises TenantFull when a tenant has no room for more messages."""
        self._bell = asyncio.Event()
        self.idle = asyncio.Event()
        """No replay has work, in any process."""

    async def run(self) -> None:
        """Work whenever there is something to do."""
        self._store.hear_replays(self._bell.set)
        while True:
            try:
                wait_s = await self._look()
                self._log.store_works(LOOK)
            except StoreError as error:
                self._log.store_failed(LOOK, error)
                wait_s = RETRY_S
            await self._pause(wait_s)

    async def _pause(self, wait_s: float) -> None:
        timer = self._clock.later(max(1, round(wait_s * 1000)), self._bell.set)
        await self._bell.wait()
        self._bell.clear()
        timer.cancel()

    async def _look(self) -> float:
        """Do a slice of each replay that is due; answers when to look again."""
        jobs = await self._store.replays_running()
        if not jobs:
            self.idle.set()
            return IDLE_S
        self.idle.clear()
        return min([await self._turn(job) for job in jobs])

    async def _turn(self, job: ReplayJob) -> float:
        now_ms = self._clock.now_ms()
        theirs = job.owner not in (0, self._owner) and job.leased_until_ms > now_ms
        due_ms = job.leased_until_ms if theirs else job.next_at_ms
        if due_ms > now_ms:
            return (due_ms - now_ms) / 1000
        try:
            self._admit(job.tenant)
            await self._slice(job, now_ms)
            self._log.store_works(GO_ON)
        except TenantFull:
            return FULL_S
        except StoreError as error:  # others have their turn all the same
            self._log.store_failed(GO_ON, error)
            return RETRY_S
        except Stopped as stopped:
            await self._stop(job, *stopped.args)
        except PostroadError as error:  # this one alone: it would fail so again, and end the run
            await self._stop(job, ReplayState.paused, str(error))
        return 0.0

    async def _slice(self, job: ReplayJob, now_ms: int) -> None:
        count = slice_count(job.spec.rate)
        # Read for each slice: an endpoint that was disabled pauses its replay.
        to = await self._walk.targets(job)
        if job.spec.what is ReplayWhat.failed:
            step = ReplaySlice(job, self._owner, now_ms)
            done = await self._store.replay_failed(step, count)
        else:
            step = await self._walk.step(job, to, count, now_ms)
            step = msgspec.structs.replace(step, owner=self._owner)
            done = await self._store.replay_events(step)
        if done.ended:
            count = job.replayed + done.replayed
            self._log.info("replay done", replay=replay_id(job.id), replayed=count)

    async def _stop(self, job: ReplayJob, state: ReplayState, reason: str) -> None:
        ended_ms = self._clock.now_ms() if state is ReplayState.cancelled else 0
        # Somebody else may have stopped it meanwhile, which is the same.
        _ = await self._store.replay_turn(job.tenant, job.id, state, reason, ended_ms)
        self._log.warning("replay stopped", replay=replay_id(job.id), reason=reason)
