"""Queues that somebody names, and that may not be there."""

from collections.abc import Mapping
from typing import Final

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, UnknownQueue
from postroad.model.near_names import nearest
from postroad.model.texts import checked
from postroad.ports.store import Store
from postroad.ports.transport import Transport
from postroad.transports.handler import HandlerTransport

NAMES_MAX: Final = 1_000
"""Names among which the nearest is looked for."""


def check_names(queue: str, tenant: str) -> None:
    """Raise BadInput unless these can be names of a queue and a tenant."""
    if not queue:
        raise BadInput("queue is empty: give a handler's name or an address")
    if not tenant:
        raise BadInput(f"tenant is empty: give one, or leave it out for {DEFAULT_TENANT!r}")
    _ = checked("queue", queue), checked("tenant", tenant)  # whether they are short enough


async def check_queue(store: Store, name: str, tenant: str) -> None:
    """Raise UnknownQueue, with the nearest name, if a tenant has no such queue."""
    if await store.find_queue(tenant, name) is None:
        raise await unknown_queue(store, name, tenant)


async def unknown_queue(store: Store, name: str, tenant: str) -> UnknownQueue:
    """The error about a queue that is not there."""
    names = [one.queue for one in await store.queue_page(tenant, "", NAMES_MAX)]
    near = nearest(name, names)
    return UnknownQueue(f"this road has no queue {name!r} of tenant {tenant!r}{near}")


def local_of(transports: Mapping[str, Transport]) -> HandlerTransport:
    """The transport of the handlers in this process."""
    local = transports[HandlerTransport.name]
    if not isinstance(local, HandlerTransport):  # pragma: no cover - a road has its own
        raise TypeError(local)
    return local
