"""Health checks: whether the server lives, and whether it can work."""

import asyncio
from typing import Final

from msgspec import Struct

from postroad.api.request import Request, Response
from postroad.api.routing import fetch
from postroad.model.errors import DiskFull, PostroadError

READY_S: Final = 2.0


class Health(Struct, frozen=True):
    """`ok`, or what is wrong with which part."""

    status: str
    parts: dict[str, str] = {}


@fetch("/healthz", scope=None)
async def healthz() -> Health:
    """Tell that the process lives."""
    return Health("ok")


@fetch("/readyz", scope=None, also=(503,))
async def readyz(request: Request) -> Response[Health]:
    """Tell whether it can accept messages and, where it delivers, deliver them."""
    here = request.context
    parts = {"server": "stopping" if here.stopping else "ok", "store": await _store(request)}
    if here.delivers:
        parts["engine"] = "ok" if here.road.engine is not None else "stopped"
    good = set(parts.values()) == {"ok"}
    return Response(Health("ok" if good else "not ready", parts), status=200 if good else 503)


async def _store(request: Request) -> str:
    store, admission = request.road.store, request.context.admission
    if admission.just_full:
        return DiskFull.__name__
    try:
        async with asyncio.timeout(READY_S):
            _ = await store.token_find("")  # only that the store answers
            if admission.full_s is not None:
                _ = await store.beat(request.road.owner)  # that it has room again
                admission.full_s = None
    except TimeoutError:
        return f"no answer within {READY_S:g} s"
    except PostroadError as error:
        return type(error).__name__
    return "ok"


ROUTES: Final = (healthz, readyz)
