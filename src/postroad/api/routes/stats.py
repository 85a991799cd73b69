"""Counts of the whole road."""

from typing import Final

from msgspec import Struct

from postroad.api.request import Request
from postroad.api.routing import fetch
from postroad.engine.engine import Engine
from postroad.model.overview import Heap, Standing
from postroad.model.tokens import Scope


class Stats(Struct, frozen=True):
    """Unfinished messages by state, dead ones by reason, and what holds messages back."""

    now_ms: int
    waiting: int
    held: int
    blocked: int
    uncertain: int
    dead: dict[str, int]
    open_circuits: int
    blocked_queues: int
    paused_queues: int
    oldest_due_ms: int | None
    """Since when the first message is due that nothing holds back."""
    heaps: tuple[Heap, ...]
    """The same by transport, retry level and standing."""
    tries: dict[str, int]
    """Tries of this process so far for the tenant, by outcome."""
    queries: dict[str, int]
    """Statements of this process so far, by what for; only for a token of every tenant."""
    delivers: bool


@fetch("/v1/stats", scope=Scope.read)
async def stats(request: Request) -> Stats:
    """Count messages by state, and what holds them back."""
    here = request.context
    said = await here.road.inspect.overview(tenant=request.tenant)
    by_standing = {
        standing: sum(heap.count for heap in said.heaps if heap.standing is standing)
        for standing in Standing
    }
    dues = [heap.oldest_due_ms for heap in said.heaps if heap.standing is Standing.waiting]
    return Stats(
        now_ms=here.road.store.clock.now_ms(),
        waiting=by_standing[Standing.waiting],
        held=by_standing[Standing.held],
        blocked=by_standing[Standing.blocked],
        uncertain=by_standing[Standing.uncertain],
        dead=said.dead,
        open_circuits=said.open_circuits,
        blocked_queues=said.blocked_queues,
        paused_queues=said.paused_queues,
        oldest_due_ms=min(dues, default=None),
        heaps=said.heaps,
        tries=_tries(here.road.engine, request.tenant),
        queries=here.road.store.queries if request.who.every_tenant else {},
        delivers=here.delivers,
    )


def _tries(engine: Engine | None, tenant: str) -> dict[str, int]:
    outcomes = engine.recorder.outcomes if engine else {}
    return {kind: count for (owner, kind), count in outcomes.items() if owner == tenant}


ROUTES: Final = (stats,)
