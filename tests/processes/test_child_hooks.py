"""Hooks around tries that child processes make, and children that cannot be started."""

import gc
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from postroad import Message
from tests.processes.test_process_handlers import Stand, is_state, until


def test_hooks_are_put_around_calls_in_children(tmp_path: Path) -> None:
    stand = Stand(tmp_path, retries=0)
    seen: list[tuple[str, str]] = []

    @asynccontextmanager
    async def noted(message: Message) -> AsyncIterator[None]:
        seen.append(("begin", message.body.do))
        try:
            yield
            seen.append(("end", message.body.do))
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
            raise

    _ = stand.road.around(noted)

    async def story() -> None:
        good = await stand.send("fine")
        await until(lambda: is_state(stand, good, "delivered"))
        bad = await stand.send("raise")
        await until(lambda: is_state(stand, bad, "dead"))
        assert (await stand.road.explain(bad)).tries[0].error == "ValueError: no such photo"

    stand.run(story)
    assert seen == [
        ("begin", "fine"),
        ("end", "fine"),
        ("begin", "raise"),
        ("FailedInChild", "ValueError: no such photo"),
    ]
    assert [pid == os.getpid() for pid, _, _ in stand.notes()] == [False, False]


def test_a_child_that_cannot_be_started_is_a_failed_try_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, retries=0)

    def refused(*_: object, **__: object) -> NoReturn:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    async def story() -> None:
        with monkeypatch.context() as full:
            full.setattr(subprocess, "Popen", refused)
            sent = await stand.send("fine")
            await until(lambda: is_state(stand, sent, "dead"))
        told = await stand.road.explain(sent)
        assert "cannot be started: Resource temporarily" in told.tries[0].error
        gc.collect()  # a socket that is left open would warn, which fails the test
        again = await stand.send("fine")
        await until(lambda: is_state(stand, again, "delivered"))

    stand.run(story)
