"""One try of the real transport, without an engine around it."""

import os
import time
from pathlib import Path

from msgspec import Struct

from postroad.model.entities import Message, Policy, Queue
from postroad.model.keyring import KeyRing
from postroad.model.outcome import Outcome
from postroad.model.webhook import WebhookRules
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore
from postroad.transports.webhook.endpoints import Endpoints
from postroad.transports.webhook.resolving import Resolve
from postroad.transports.webhook.transport import WebhookTransport


class Tried(Struct, frozen=True):
    """What one try gave, and how long it took."""

    outcome: Outcome
    took_s: float


async def tries(
    folder: Path,
    url: str,
    rules: WebhookRules,
    *,
    count: int = 1,
    resolve: Resolve | None = None,
    body: bytes = b"{}",
) -> list[Tried]:
    """So many tries, one after the other, on one session."""
    clock = SystemClock()
    store = SqliteStore(folder / "tries.db", clock)
    await store.open()
    endpoints = Endpoints(store, KeyRing([], os.urandom), rules, clock)
    transport = WebhookTransport(rules, endpoints, clock, resolve=resolve)
    session = await transport.open(transport.address(url, "default"))
    queue = Queue(1, "default", url, Policy(), (1,))
    message = Message(7, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1 << 62, body)
    tried = []
    for _ in range(count):
        start_s = time.perf_counter()
        outcome = await session.send(queue, message)
        tried.append(Tried(outcome, time.perf_counter() - start_s))
    await session.close()
    await store.close()
    return tried
