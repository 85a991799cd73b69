"""The life of endpoints as people turn it: enable, disable, recover, and the rules for it."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypedDict

from msgspec.structs import replace

from postroad.model.dead import DeadFilter, ReplayMode
from postroad.model.endpoint import (
    DELETING,
    DISABLED,
    ENABLED,
    EndpointEntry,
    EndpointLife,
    endpoint_id,
    queue_name,
)
from postroad.model.endpoint_life import (
    By,
    EndpointRules,
    LifeEvent,
    disabled_life,
    enabled_life,
)
from postroad.model.errors import BadInput, Conflict
from postroad.model.facts import COUNTED_MAX
from postroad.model.matching import SPEC
from postroad.model.pace import Limit, drain_limit
from postroad.model.replay import NothingToReplay, ReplayWhat, spacing_us
from postroad.model.tokens import EVERY_TENANT
from postroad.ports.events import EventStore
from postroad.ports.log import Log
from postroad.ports.replays import ReplayStore
from postroad.ports.store import Store
from postroad.verbs.endpoint_stats import EndpointStats, Recovery, StatsSpan, points_of, total_of
from postroad.verbs.endpoint_turns import EndpointTurns
from postroad.verbs.endpoint_watch import EndpointWatch
from postroad.verbs.event_stores import event_store
from postroad.verbs.operational import OperationalEvents
from postroad.verbs.paging import span_ms
from postroad.verbs.replays import RATE, ReplayVerbs
from postroad.verbs.sending import Sending

AGAIN_MAX: Final = 10
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
Find = Callable[[], Awaitable[EndpointEntry]]
BEFORE_MS: Final = 60_000


class EndpointRuleOptions(TypedDict, total=False):
    """Rules of endpoints; what is not given keeps its value."""

    notice_after_s: float
    disable_after_s: float
    hold_for_s: float
    hold_max: int
    dead_every_s: float
    drain: str


class EndpointLives:
    """Turns endpoints as people ask for it."""

    def __init__(self, store: Store, sending: Sending, replays: ReplayVerbs, log: Log) -> None:
        self._store = store
        self._turns = EndpointTurns(store, OperationalEvents(store, sending, log), log)
        self.watch = EndpointWatch(store, self._turns, log)
        self._replays = replays

    @property
    def _events(self) -> EventStore:
        return event_store(self._store)

    async def enable(self, find: Find, by: By) -> None:
        """Send to an endpoint again."""
        _check_by(by)

        async def step(entry: EndpointEntry) -> bool:
            life = _living(entry)
            if life.state == ENABLED:
                return True
            check_enabling(endpoint_id(entry.row.id), life.disabled_by, by)
            drain = await self._drain_limit(entry)
            now_ms = self._store.clock.now_ms()
            failing_ms = now_ms if life.failing_since_ms else None
            new = enabled_life(life, now_ms)
            turn = partial(self._turns.turn, entry, new, paused=False, drain=drain)
            return await turn(failing_since_ms=failing_ms)

        await self._release(await self._again(find, step))

    async def disable(self, find: Find, by: By, reason: str) -> None:
        """Send nothing to an endpoint, and hold what is meant for it."""
        _check_by(by)

        async def step(entry: EndpointEntry) -> bool:
            life = _living(entry)
            if life.state == DISABLED and by in ("owner", life.disabled_by):
                return True
            new = disabled_life(life, by, reason, self._store.clock.now_ms())
            return await self._turns.turn(entry, new, LifeEvent.disabled, paused=True)

        _ = await self._again(find, step)  # its facts are read by the caller

    async def delete(self, find: Find, number: int, tenant: str) -> None:
        """Let an endpoint match nothing any more, and send nothing to it; its replays end."""

        async def step(entry: EndpointEntry) -> bool:
            now_ms = self._store.clock.now_ms()
            new = replace(entry.row.life, state=DELETING, disabled_by="", changed_at_ms=now_ms)
            return await self._turns.turn(entry, new, paused=True)

        _ = await self._again(find, step)  # it is deleted next
        if isinstance(self._store, ReplayStore):  # also those that are paused
            why, now_ms = f"{endpoint_id(number)} was deleted", self._store.clock.now_ms()
            await self._store.replays_end(tenant, queue_name(number), why, now_ms)

    async def recover(self, find: Find, since: datetime | None, *, dry_run: bool) -> Recovery:
        """Send again what died since a time, or in the last spell, at the rate of draining."""
        entry = await find()
        life, name = entry.row.life, endpoint_id(entry.row.id)
        since_ms = span_ms(since, None)[0] or _spell_ms(entry)
        if not since_ms:
            raise BadInput(f"{name} was never disabled, and is healthy: say since when")
        if life.state != ENABLED and not dry_run:
            raise Conflict(f"{name} is {life.state}: enable it, then recover what it missed")
        if not dry_run:
            await self._drain(find)
        rules = await self._events.endpoint_rules(entry.row.tenant)
        try:
            replay = await self._replays.start(
                ReplayWhat.failed,
                endpoint=name,
                since=EPOCH + timedelta(milliseconds=since_ms),
                rate=rate_of(rules.drain),
                dry_run=dry_run,
                tenant=entry.row.tenant,
            )
        except NothingToReplay:
            return Recovery(name, since_ms, 0, "")
        return Recovery(name, since_ms, replay.total, replay.id)

    async def stats(self, entry: EndpointEntry, span: StatsSpan) -> EndpointStats:
        """What an endpoint answered, and what waits for it."""
        row, now_ms = entry.row, self._store.clock.now_ms()
        since_ms, until_ms = span.times(now_ms)
        hours = await self._events.endpoint_hours(row.id, since_ms, until_ms)
        waiting, oldest_ms, _ = await self._events.endpoint_backlog(row.queue, COUNTED_MAX)
        spell_ms = _spell_ms(entry)
        which = DeadFilter(row.tenant, queue_name(row.id), since_ms=spell_ms)
        return EndpointStats(
            endpoint_id(row.id),
            since_ms,
            until_ms,
            total_of(hours, since_ms),
            points_of(hours, span.by),
            waiting,
            now_ms - oldest_ms if oldest_ms else None,
            await self._died(which) if spell_ms else 0,
        )

    async def set_rules(self, tenant: str, changes: EndpointRuleOptions) -> EndpointRules:
        """Set what holds for the endpoints of a tenant, or of all."""
        if not tenant:
            raise BadInput(f"tenant is empty: give one, or {EVERY_TENANT!r} for all")
        known = set(EndpointRules.__struct_fields__)
        if wrong := sorted(set(changes) - known):
            raise BadInput(f"{wrong[0]} is no rule of endpoints: {', '.join(sorted(known))}")
        rules = replace(await self._events.endpoint_rules(tenant), **changes)
        await self._events.endpoint_rules_put(tenant, rules)
        return rules

    # The rest

    async def _again(self, find: Find, step: Callable[[EndpointEntry], Awaitable[bool]]) -> int:
        """Turn an endpoint as it is now; again when somebody else has changed it meanwhile.
        Answers its queue."""
        for _ in range(AGAIN_MAX):
            entry = await find()
            if await step(entry):
                return entry.row.queue
        raise Conflict("the endpoint is being changed by others: nothing was changed; do it again")

    async def _drain_limit(self, entry: EndpointEntry) -> Limit | None:
        """The rate of draining, unless the endpoint has one of its own."""
        rules = await self._events.endpoint_rules(entry.row.tenant)
        own = SPEC.decode(entry.row.spec).rate
        return drain_limit(rules.drain) if rules.drain and not own else None

    async def _drain(self, find: Find) -> None:
        async def step(entry: EndpointEntry) -> bool:
            drain = await self._drain_limit(entry)
            new = replace(entry.row.life, draining_since_ms=self._store.clock.now_ms())
            return await self._turns.turn(entry, new, drain=drain)

        await self._release(await self._again(find, step))

    async def _release(self, queue: int) -> None:
        """Try the exhausted message again that holds back an ordered endpoint."""
        head = await self._events.endpoint_held_head(queue)
        if head is not None:
            which = DeadFilter(tenant=None, ids=(head,))
            mode = ReplayMode.reset
            _ = await self._store.dead_replay(which, count=1, dry_run=False, mode=mode)  # or gone

    async def _died(self, which: DeadFilter) -> int:
        count, mode = COUNTED_MAX, ReplayMode.reset
        return await self._store.dead_replay(which, count=count, dry_run=True, mode=mode)


def check_enabling(name: str, disabled_by: str, by: str) -> None:
    """Raise a Conflict if somebody may not enable an endpoint that was disabled so."""
    if disabled_by == "operator" and by != "operator":
        raise Conflict(
            f"{name} was disabled by an operator, who alone can enable it: nothing was changed"
        )


def _spell_ms(entry: EndpointEntry) -> int:
    """When the spell began that an endpoint is in, or was last disabled in. What began it has died
    a moment before it was counted."""
    since_ms = entry.row.life.spell_since_ms or entry.row.life.failing_since_ms
    return max(0, since_ms - BEFORE_MS)


def rate_of(drain: str) -> str:
    """The rate of a replay beside draining: the same, if it is one of a single window."""
    try:
        _ = spacing_us(drain)  # whether it is
    except BadInput:
        return RATE
    return drain


def _living(entry: EndpointEntry) -> EndpointLife:
    """The life of an endpoint that is not being deleted."""
    if entry.row.life.state == DELETING:
        raise Conflict(f"{endpoint_id(entry.row.id)} is being deleted: nothing was changed")
    return entry.row.life


def _check_by(by: str) -> None:
    if by not in ("owner", "operator"):
        raise BadInput(f"by={by!r}: 'owner' or 'operator'")
