"""Hooks around each try of a handler: they see it begin, end and fail, in its own context."""

import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from postroad import Message, Postroad, Reject
from postroad.model.errors import BadInput

TENANT: ContextVar[str] = ContextVar("tenant", default="")


class Inner:
    """A context manager as a class."""

    def __init__(self, seen: list[object], message: Message[Any]) -> None:
        self._seen = seen
        self._message = message

    async def __aenter__(self) -> None:
        self._seen.append(f"begin {self._message.body}")

    async def __aexit__(self, kind: object, *_: object) -> None:
        self._seen.append(f"end {getattr(kind, '__name__', kind)}")


def test_hooks_are_around_coroutines_and_threads_and_see_what_is_raised(tmp_path: Path) -> None:
    road = Postroad(f"sqlite:///{tmp_path}/road.db")
    seen: list[object] = []

    @road.around
    async def outer(message: Message[Any]) -> AsyncIterator[None]:
        token = TENANT.set(message.headers["shop"])
        try:
            yield
        except ValueError as error:
            seen.append(f"tracked {error}")
            raise
        finally:
            TENANT.reset(token)

    _ = road.around(partial(Inner, seen))

    @road.handler("async", retries=0)
    async def in_loop(message: Message[str]) -> None:
        seen.append(f"{message.body} of {TENANT.get()}")
        if message.body == "bad":
            raise ValueError("wrong")

    @road.handler("plain", retries=0)
    def in_thread(message: Message[str]) -> None:
        seen.append(f"{message.body} of {TENANT.get()}")
        if message.body == "never":
            raise Reject("no")

    async def story() -> list[str]:
        async with asyncio.timeout(60), road:
            for queue, body in (("async", "good"), ("async", "bad"), ("plain", "never")):
                await road.send(queue, body, headers={"shop": "north"})
                await road.run(until_idle=True)
            return [dead.error for dead in (await road.dead.list()).messages]

    errors = asyncio.run(story())
    assert seen == [
        *("begin good", "good of north", "end None"),
        *("begin bad", "bad of north", "end ValueError", "tracked wrong"),
        *("begin never", "never of north", "end Reject"),
    ]
    assert sorted(errors) == ["ValueError: wrong", "no"]


def test_what_is_no_hook_is_refused(tmp_path: Path) -> None:
    road = Postroad(f"sqlite:///{tmp_path}/road.db")

    async def no_yield(_message: Message[Any]) -> None: ...

    for wrong in (no_yield, 7):
        with pytest.raises(BadInput, match="async context manager"):
            road.around(wrong)  # type: ignore[type-var]
