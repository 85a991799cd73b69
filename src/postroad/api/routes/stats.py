"""Counts of the whole road."""

from typing import Final

from msgspec import Struct

from postroad.api.paging import Most
from postroad.api.request import Request
from postroad.api.routing import fetch
from postroad.model.overview import MessageCount
from postroad.model.rollup import Total
from postroad.model.states import NEVER, State
from postroad.model.tokens import Scope


class Stats(Struct, frozen=True):
    """Unfinished messages by state, dead ones by reason, and what holds messages back."""

    now_ms: int
    waiting: int
    held: int
    uncertain: int
    uncertain_recipients: int
    """Recipients of campaigns of whom nobody knows whether they were sent to."""
    dead: dict[str, int]
    open_circuits: int
    blocked_queues: int
    paused_queues: int
    disabled_endpoints: int
    oldest_due_ms: int | None
    """Since when the first message is due that nothing holds back."""
    counts: tuple[MessageCount, ...]
    """The same by transport, retry level and state."""
    minute: Total
    """Tries of the whole fleet in the last minute, and how late messages were first tried."""
    hour: Total
    """The same of the last hour."""
    queries: dict[str, int]
    """Statements of this process so far, by what for; only for a token of every tenant."""
    delivers: bool
    whole: bool = True
    """Whether all were counted; else there are at least so many."""


@fetch("/v1/stats", scope=Scope.read)
async def stats(request: Request, most: Most = NEVER) -> Stats:
    """Count messages by state, and what holds them back. With `most` by bounded look-ups, each
    figure up to so many."""
    here = request.context
    said = await here.road.inspect.overview(most=most, tenant=request.tenant)
    recent = await here.road.rollups.recent(tenant=request.tenant)
    dues = [each.oldest_due_ms for each in said.counts if each.state is State.waiting]
    return Stats(
        now_ms=here.road.store.clock.now_ms(),
        waiting=said.count(State.waiting),
        held=said.count(State.held),
        uncertain=said.count(State.uncertain),
        uncertain_recipients=said.uncertain_recipients,
        dead=said.dead,
        open_circuits=said.open_circuits,
        blocked_queues=said.blocked_queues,
        paused_queues=said.paused_queues,
        disabled_endpoints=said.disabled_endpoints,
        oldest_due_ms=min(dues, default=None),
        counts=said.counts,
        minute=recent.minute,
        hour=recent.hour,
        queries=here.road.store.queries if request.who.every_tenant else {},
        delivers=here.delivers,
        whole=said.whole,
    )


ROUTES: Final = (stats,)
