"""Names are looked up in threads, which tenants share fairly."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from postroad.model.webhook import WebhookRules
from postroad.transports.webhook import resolving
from postroad.transports.webhook.guard import Guard
from postroad.transports.webhook.resolving import SystemResolver, Unresolved
from postroad.transports.webhook.target import read

Within = Callable[[Coroutine[Any, Any, Any]], Any]
MANY = 100
RULES = WebhookRules()


@asynccontextmanager
async def flooded() -> AsyncIterator[Guard]:
    """A guard that one tenant has asked for many names, which no name server answers for."""
    over, asked = threading.Event(), threading.Semaphore(0)

    def look_up(name: str) -> list[str]:
        if name.startswith("dead"):
            asked.release()
            over.wait(100)
        return ["192.0.32.8"]

    guard = Guard(RULES, SystemResolver(look_up))
    tasks = [
        asyncio.ensure_future(guard.addresses(read(f"https://dead{n}.example/", RULES), "crowd"))
        for n in range(MANY)
    ]
    try:
        _ = await asyncio.to_thread(asked.acquire)
        yield guard
    finally:
        over.set()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    # Neither their threads nor their turns are lost: who still waited has an answer now.
    assert all(each == ["192.0.32.8"] for each in ended if not isinstance(each, Unresolved))


def test_names_that_nobody_answers_for_do_not_hold_up_another_tenants(
    monkeypatch: pytest.MonkeyPatch, within: Within
) -> None:
    monkeypatch.setattr(resolving, "RESOLVE_S", 100.0)

    async def story() -> list[str]:
        async with flooded() as guard, asyncio.timeout(60):
            return await guard.addresses(read("https://alive.example/", RULES), "other")

    assert within(story()) == ["192.0.32.8"]


def test_otherwise_they_do(monkeypatch: pytest.MonkeyPatch, within: Within) -> None:
    monkeypatch.setattr(SystemResolver, "_may", lambda _resolver, _tenant: True)
    monkeypatch.setattr(resolving, "RESOLVE_S", 0.3)

    async def story() -> None:
        async with flooded() as guard:
            with pytest.raises(Unresolved, match="no name server answered for alive"):
                await guard.addresses(read("https://alive.example/", RULES), "other")

    within(story())


def test_a_thread_that_hangs_is_taken_until_it_ends(
    monkeypatch: pytest.MonkeyPatch, within: Within
) -> None:
    monkeypatch.setattr(resolving, "RESOLVE_S", 100.0)
    over, begun = threading.Event(), threading.Semaphore(0)

    def look_up(_name: str) -> list[str]:
        begun.release()
        over.wait(100)
        return ["192.0.32.8"]

    async def story() -> None:
        resolver = SystemResolver(look_up)
        names = [
            asyncio.ensure_future(resolver.resolve(f"dead{n}.example", "crowd"))
            for n in range(MANY)
        ]
        for _ in range(resolving.THREADS // 2):
            assert await asyncio.to_thread(begun.acquire, timeout=60)
        for each in names:
            each.cancel()
        given_up = await asyncio.gather(*names, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in given_up)
        monkeypatch.setattr(resolving, "RESOLVE_S", 0.1)
        with pytest.raises(Unresolved):
            await resolver.resolve("more.example", "crowd")
        assert not begun.acquire(blocking=False)
        over.set()
        monkeypatch.setattr(resolving, "RESOLVE_S", 60.0)
        assert await resolver.resolve("more.example", "crowd") == ["192.0.32.8"]

    within(story())


def test_localhost_is_asked_of_no_name_server(
    monkeypatch: pytest.MonkeyPatch, within: Within
) -> None:
    asked: list[object] = []

    def look_up(name: str, *_: object, **__: object) -> list[Any]:
        asked.append(name)
        return [(2, 1, 6, "", ("127.0.0.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    async def story() -> list[str]:
        resolver = SystemResolver()
        _ = await resolver.resolve("shop.example", "a")
        return await resolver.resolve("localhost", "a")

    assert within(story()) == ["127.0.0.1"]
    assert asked == ["shop.example.", "localhost"]
