"""What Prometheus reads. It names no tenant, queue or address, and asks for no token."""

import asyncio
from contextlib import suppress
from typing import Final

from msgspec import structs

from postroad.api.context import Context
from postroad.api.request import Request, Response
from postroad.api.routing import fetch
from postroad.model.errors import StoreError
from postroad.ports.broker import HasBroker

FRESH_S: Final = 5.0
"""Sums over the whole store are asked for no more often than this, however many look."""
LOOK_S: Final = 5.0


@fetch("/metrics", scope=None, gives_media=("text/plain",))
async def metrics(request: Request) -> Response[bytes]:
    """Show all metrics of this process and of those beside it under one supervisor, and counts of
    the road."""
    here = request.context
    await _look(here)
    counts = here.counts()
    others = await here.others(counts) if here.others else None
    hub = here.road.mailboxes.hub
    if hub is not None:
        shown = structs.asdict(hub.status())
        here.meter.hub({what: value for what, value in shown.items() if what != "busiest"})
    store = here.road.store
    if isinstance(store, HasBroker):
        with suppress(StoreError):  # one that is away says so in the log and in /readyz
            here.meter.broker(await store.broker_facts())
    return Response(here.meter.text(others), media_type=here.meter.media_type)


async def _look(here: Context) -> None:
    clock = here.road.store.clock
    if here.looked_s is not None and clock.steady_s() - here.looked_s < FRESH_S:
        return
    here.looked_s = clock.steady_s()
    try:
        async with asyncio.timeout(LOOK_S):
            said = await here.road.inspect.overview(tenant=None)
            recent = await here.road.rollups.recent(tenant=None)
            workers = (await here.road.workers.list()).workers
    except (StoreError, TimeoutError) as error:
        # What this process counts itself is most wanted just then.
        here.log.warning("metrics without the store's sums", error=str(error))
        return
    here.meter.stands(said, clock.now_ms())
    here.meter.fleet(recent.minute, workers)


ROUTES: Final = (metrics,)
