"""Replays: send again what failed, what a window held, or what an endpoint missed."""

from datetime import datetime
from typing import Final, TypedDict, Unpack

from msgspec import Struct
from msgspec.structs import replace

from postroad.engine.engine import Engine
from postroad.engine.replaying import EventWalk, ReplayWorker, Stopped
from postroad.model.dead import ReplayMode
from postroad.model.endpoint import endpoint_id, endpoint_number, queue_name
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import (
    BadInput,
    Conflict,
    NotOnRabbitMQ,
    TenantFull,
    UnknownEndpoint,
)
from postroad.model.ids import IdSequence, first_after
from postroad.model.limits import Limits
from postroad.model.replay import (
    SLICE_MAX,
    NothingToReplay,
    ReplayJob,
    ReplaySpec,
    ReplayState,
    ReplayWhat,
    UnknownReplay,
    replay_id,
    replay_number,
    sort_pairs,
    spacing_us,
)
from postroad.model.states import NEVER, DeadReason
from postroad.model.texts import ERROR_MAX, checked
from postroad.ports.log import Log
from postroad.ports.replays import ReplayStore
from postroad.ports.store import Store
from postroad.verbs.allowance import Allowance
from postroad.verbs.bounding import bounded
from postroad.verbs.event_stores import event_store
from postroad.verbs.known_queues import check_queue
from postroad.verbs.paging import check_page, span_ms
from postroad.verbs.sending import Sending

RATE: Final = "100/s"
NO_REPLAYS: Final = (
    "replays: a broker cannot note a job's progress and store its messages in one transaction. Use "
    "`dead replay` and `message send-again`, or a road on PostgreSQL or SQLite"
)
OPEN_MAX: Final = 20
"""Replays of a tenant that have not ended."""


class ReplayOptions(TypedDict, total=False):
    """What a replay sends, and how fast."""

    endpoint: str | None
    """Only to this endpoint: `ep_…`."""
    queue: str | None
    """Only what failed of this queue."""
    reason: str | None
    """Only what died of this reason."""
    error: str | None
    """Only what has this text in its error."""
    since: datetime | None
    """What died, or was published, at this time or later."""
    until: datetime | None
    """And before this time; no later than now."""
    rate: str
    """How many messages are sent again, as 50/s."""
    mode: str
    """How dead messages are tried: `reset` for the whole ladder, `once` for one more try."""


class Replay(Struct, frozen=True):
    """A replay: what it sends again, and how far it is."""

    id: str
    """Empty when it was only counted."""
    what: ReplayWhat
    endpoint: str
    queue: str
    since_ms: int
    until_ms: int
    reason: str
    error: str
    mode: ReplayMode
    rate: str
    state: ReplayState
    stopped_because: str
    asked_at_ms: int
    ended_at_ms: int | None
    total: int
    """How many there were to send again when it was asked for; at least those that were."""
    replayed: int
    waiting: int
    """Those that were left alone, since they still wait to be delivered."""


class ReplayPage(Struct, frozen=True):
    """A page of replays, the newest first. `after` is for the next page; "" is the end."""

    replays: tuple[Replay, ...]
    after: str = ""


@bounded
class ReplayVerbs:
    """Start, watch, pause and cancel replays. A replay is a job in the store: any process that
    delivers goes on with it."""

    def __init__(self, store: Store, sending: Sending, limits: Limits) -> None:
        self._store = store
        self._sending = sending
        self._history_ms = limits.history_ms

    async def start(
        self,
        what: str = ReplayWhat.failed,
        *,
        dry_run: bool = False,
        tenant: str = DEFAULT_TENANT,
        **options: Unpack[ReplayOptions],
    ) -> Replay:
        """Send again what `failed`, `all` events of a window, or those that an endpoint `missed`.
        They are counted first; `dry_run` does no more. What still waits is never sent twice."""
        replays = self._replays()
        job = self._asked(what, tenant, options)
        if job.spec.endpoint:
            await self._check_endpoint(job.spec.endpoint, tenant)
        elif job.queue:
            await check_queue(self._store, job.queue, tenant)
        job = replace(job, total=await self._count(job))
        if dry_run:
            return _facts(replace(job, id=0, state=ReplayState.counted))
        if not job.total:
            raise NothingToReplay(
                f"nothing matches what this replay of {tenant!r} asks for: nothing was started"
            )
        if not await replays.replay_add(job, OPEN_MAX):
            raise TenantFull(
                f"tenant {tenant!r} has {OPEN_MAX} replays that have not ended: wait for them, or "
                "cancel some"
            )
        return _facts(job)

    async def get(self, id: str, *, tenant: str = DEFAULT_TENANT) -> Replay:  # noqa: A002
        """How far a replay is."""
        return _facts(await self._find(id, tenant))

    async def list(
        self, *, limit: int = 100, after: str = "", tenant: str = DEFAULT_TENANT
    ) -> ReplayPage:
        """A page of a tenant's replays, the newest first."""
        check_page(limit)
        before = replay_number(after) if after else NEVER
        found = await self._replays().replay_page(tenant, 0, before, limit + 1)
        shown = tuple(_facts(job) for job in found[:limit])
        return ReplayPage(shown, shown[-1].id if len(found) > limit else "")

    async def pause(self, id: str, *, tenant: str = DEFAULT_TENANT) -> Replay:  # noqa: A002
        """Let a replay send nothing more until it is resumed."""
        return await self._turn(id, tenant, ReplayState.paused)

    async def resume(self, id: str, *, tenant: str = DEFAULT_TENANT) -> Replay:  # noqa: A002
        """Let a paused replay go on where it was."""
        return await self._turn(id, tenant, ReplayState.running)

    async def cancel(self, id: str, *, tenant: str = DEFAULT_TENANT) -> Replay:  # noqa: A002
        """End a replay. What it has sent again stays."""
        return await self._turn(id, tenant, ReplayState.cancelled)

    # The rest

    def _replays(self) -> ReplayStore:
        if not isinstance(self._store, ReplayStore):
            raise NotOnRabbitMQ(NO_REPLAYS)
        return self._store

    async def _check_endpoint(self, number: int, tenant: str) -> None:
        found = await event_store(self._store).endpoint_page(tenant, number - 1, 1)
        if not found or found[0].row.id != number:
            raise UnknownEndpoint(
                f"there is no endpoint {endpoint_id(number)} of tenant {tenant!r}: "
                "see `postroad endpoint list`"
            )

    def _asked(self, what: str, tenant: str, options: ReplayOptions) -> ReplayJob:
        if what not in set(ReplayWhat):
            raise BadInput(f"what={what!r}: one of {', '.join(ReplayWhat)}")
        now_ms = self._store.clock.now_ms()
        spec = _spec(ReplayWhat(what), options, now_ms)
        if spec.what is not ReplayWhat.failed:  # until then it is known what was delivered
            oldest_ms = now_ms - self._history_ms
            spec = replace(spec, since_ms=max(spec.since_ms, oldest_ms))
        number = self._sending.ids.next(now_ms)
        cursor = first_after(spec.since_ms) - 1
        queue = queue_name(spec.endpoint) if spec.endpoint else options.get("queue") or ""
        state = ReplayState.running
        return ReplayJob(number, tenant, queue, spec, state, "", now_ms, 0, cursor, 0)

    async def _count(self, job: ReplayJob) -> int:
        if job.spec.what is ReplayWhat.failed:
            which = job.dead
            return await self._store.dead_replay(which, job.spec.mode, count=NEVER, dry_run=True)
        replays, total, ended = self._replays(), 0, False
        walk = EventWalk(event_store(self._store), replays, IdSequence(0))
        try:
            to = await walk.targets(job)
        except Stopped as stopped:
            raise NothingToReplay(f"nothing was started: {stopped.args[1]}") from None
        while not ended:
            step = await walk.step(job, to, SLICE_MAX, job.asked_at_ms)
            states = await replays.pair_states(step.pairs)
            total += sort_pairs(step, states).count
            job, ended = replace(job, cursor=step.cursor), step.ended
        return total

    async def _find(self, id: str, tenant: str) -> ReplayJob:  # noqa: A002
        found = await self._replays().replay_page(tenant, replay_number(id), NEVER, 1)
        if not found:
            raise UnknownReplay(
                f"there is no replay {id} of tenant {tenant!r}: see `postroad replay list`"
            )
        return found[0]

    async def _turn(self, id: str, tenant: str, state: ReplayState) -> Replay:  # noqa: A002
        job = await self._find(id, tenant)
        ended_ms = self._store.clock.now_ms() if state is ReplayState.cancelled else 0
        if not await self._replays().replay_turn(tenant, job.id, state, "", ended_ms):
            raise Conflict(f"{id} is {(await self._find(id, tenant)).state}: it has ended")
        return await self.get(id, tenant=tenant)


def spawn_replays(
    engine: Engine, store: Store, sending: Sending, allowance: Allowance, log: Log
) -> ReplayWorker | None:
    """Start what works at replays while this process delivers; None on RabbitMQ."""
    if not isinstance(store, ReplayStore):
        return None

    def admit(tenant: str) -> None:
        allowance.sends((tenant,))

    walk = EventWalk(event_store(store), store, sending.ids)
    worker = ReplayWorker(store, walk, engine.owner, store.clock, log, admit)
    engine.spawn(worker.run(), "replays")
    return worker


def _spec(what: ReplayWhat, options: ReplayOptions, now_ms: int) -> ReplaySpec:
    """Check what is asked for."""
    given = {name for name, value in options.items() if value is not None} - {"rate", "mode"}
    if what is ReplayWhat.missed and "endpoint" not in given:
        raise BadInput("endpoint: say which endpoint missed something: ep_…")
    only = given & {"queue", "reason", "error"}
    if what is not ReplayWhat.failed and only:
        raise BadInput(f"{', '.join(sorted(only))}: only for what failed")
    if {"queue", "endpoint"} <= given:
        raise BadInput("queue: an endpoint has its own queue, name one of them")
    if not given:
        raise BadInput("say which: endpoint=, queue=, reason=, error=, since= or until=")
    reason, mode, rate = options.get("reason"), options.get("mode"), options.get("rate") or RATE
    if reason is not None and reason not in set(DeadReason):
        raise BadInput(f"reason={reason!r}: one of {', '.join(DeadReason)}")
    if mode is not None and mode not in set(ReplayMode):
        raise BadInput(f"mode={mode!r}: 'once' for one more try, 'reset' for a fresh ladder")
    _ = spacing_us(rate)  # whether it is one
    since_ms, until_ms = span_ms(options.get("since"), options.get("until"))
    return ReplaySpec(
        what,
        _endpoint(options.get("endpoint")),
        reason or "",
        checked("error", options.get("error") or "", ERROR_MAX),
        since_ms,
        min(until_ms, now_ms + 1),
        ReplayMode(mode or ReplayMode.reset),
        rate,
    )


def _endpoint(given: str | None) -> int:
    """The endpoint that is meant, 0 for none."""
    if given is None:
        return 0
    number = endpoint_number(given)
    if not number:  # it must not mean all of them
        raise UnknownEndpoint(f"there is no endpoint {given}: see `postroad endpoint list`")
    return number


def _facts(job: ReplayJob) -> Replay:
    spec = job.spec
    return Replay(
        id=replay_id(job.id) if job.id else "",
        what=spec.what,
        endpoint=endpoint_id(spec.endpoint) if spec.endpoint else "",
        queue=job.queue,
        since_ms=spec.since_ms,
        until_ms=spec.until_ms,
        reason=spec.reason,
        error=spec.error,
        mode=spec.mode,
        rate=spec.rate,
        state=job.state,
        stopped_because=job.reason,
        asked_at_ms=job.asked_at_ms,
        ended_at_ms=job.ended_at_ms or None,
        total=job.total,
        replayed=job.replayed,
        waiting=job.waiting,
    )
