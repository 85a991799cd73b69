"""Queues that somebody names, and that may not be there."""

from typing import Final

from postroad.model.errors import UnknownQueue
from postroad.model.near_names import nearest
from postroad.ports.store import Store

NAMES_MAX: Final = 1_000
"""Names among which the nearest is looked for."""


async def check_queue(store: Store, name: str, tenant: str) -> None:
    """Raise UnknownQueue, with the nearest name, if a tenant has no such queue."""
    if await store.find_queue(tenant, name) is None:
        raise await unknown_queue(store, name, tenant)


async def unknown_queue(store: Store, name: str, tenant: str) -> UnknownQueue:
    """The error about a queue that is not there."""
    names = [one.queue for one in await store.queue_page(tenant, "", NAMES_MAX)]
    near = nearest(name, names)
    return UnknownQueue(f"this road has no queue {name!r} of tenant {tenant!r}{near}")
