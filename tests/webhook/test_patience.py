"""Whoever makes many webhooks does not wait for each name that no name server answers for."""

import asyncio
import os
from collections.abc import Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from postroad.model.errors import BadUrl
from postroad.model.keyring import KeyRing
from postroad.model.webhook import WebhookRules
from postroad.ports.clock import LoopClock
from postroad.stores.sqlite.store import SqliteStore
from postroad.testing.simloop import SimLoop
from postroad.transports.webhook.endpoints import Endpoints
from postroad.transports.webhook.patience import VettingPatience
from postroad.transports.webhook.resolving import RESOLVE_S, Unanswered
from postroad.transports.webhook.transport import WebhookTransport

AT_ONCE: Final = 64
BATCHES: Final = 40
RULES: Final = WebhookRules()


async def unanswered(name: str) -> list[str]:
    """As the system's resolver where no name server answers, but for one name."""
    if name == "inside.example":
        return ["10.0.0.1"]
    await asyncio.sleep(RESOLVE_S)
    raise Unanswered(f"no name server answered for {name}")


def transport(folder: Path) -> WebhookTransport:
    clock = LoopClock()
    store = SqliteStore(folder / "road.db", clock)
    endpoints = Endpoints(store, KeyRing([], os.urandom), RULES, clock)
    return WebhookTransport(RULES, endpoints, clock, resolve=unanswered)


async def vet_many(hooks: WebhookTransport, tenant: str = "crowd") -> None:
    for batch in range(BATCHES):
        urls = [f"https://h{batch}-{n}.example/" for n in range(AT_ONCE)]
        await asyncio.gather(*[hooks.vet(url, tenant) for url in urls])


def took_s(story: Coroutine[Any, Any, None]) -> float:
    """How long it takes, in simulated time."""
    with closing(SimLoop(1)) as loop:
        began_s = loop.time()
        loop.run(story, limit_s=3600)
        return loop.time() - began_s


def test_names_that_nobody_answers_for_are_waited_for_a_few_times_only(tmp_path: Path) -> None:
    assert took_s(vet_many(transport(tmp_path))) < 5 * RESOLVE_S


def test_otherwise_each_batch_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VettingPatience, "_note", lambda _patience, _tenant: None)
    assert took_s(vet_many(transport(tmp_path))) >= BATCHES * RESOLVE_S


def test_meanwhile_a_forbidden_address_is_refused_and_others_wait_as_ever(tmp_path: Path) -> None:
    async def story() -> None:
        hooks, clock = transport(tmp_path), LoopClock()
        await hooks.vet("https://first.example/", "crowd")
        with pytest.raises(BadUrl, match=r"leads to an address .*\(private\)"):
            await hooks.vet("https://inside.example/", "crowd")
        for tenant, now in (("other", False), ("crowd", True)):
            began_s = clock.steady_s()
            try:
                await hooks.vet("https://next.example/", tenant, now=now)
            except BadUrl:
                assert now
            assert clock.steady_s() - began_s >= RESOLVE_S

    assert took_s(story()) >= 3 * RESOLVE_S
