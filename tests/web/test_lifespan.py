"""The worker that runs in a web application."""

import asyncio
import io
from pathlib import Path

import pytest

from postroad import Message, Postroad, web
from postroad.engine.engine import Engine
from postroad.observe.log import make_log
from postroad.verbs.parts import Parts
from tests.jobs.stopping import until


async def running(road: Postroad, after: Engine | None = None) -> Engine:
    """The engine that runs, once it does; another one than before."""
    await until(lambda: road.engine not in (None, after))
    assert road.engine is not None
    return road.engine


def test_a_worker_that_broke_is_started_again_while_the_application_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was only logged, and nothing was delivered until somebody started the application anew."""
    monkeypatch.setattr(web, "FIRST_WAIT_S", 0.01)
    log, seen = io.StringIO(), list[str]()
    road = Postroad(f"sqlite:///{tmp_path}/road.db", parts=Parts(log=make_log("info", log)))

    @road.handler("work")
    async def work(message: Message[str]) -> None:
        seen.append(message.body)

    async def story() -> None:
        async with asyncio.timeout(60), web.lifespan(road, worker=True)(None):
            await road.send("work", "before")
            await until(lambda: "before" in seen)
            for turn in range(3):
                broken = await running(road)
                broken.broke(RuntimeError(f"torn {turn}"))
                _ = await running(road, after=broken)
                await road.send("work", f"after {turn}")
                await until(lambda: f"after {turn}" in seen)  # noqa: B023 - it is awaited here

    asyncio.run(story())
    assert seen == ["before", "after 0", "after 1", "after 2"]
    assert log.getvalue().count("the worker of this application broke") == 3
    assert "RuntimeError: torn 2" in log.getvalue()


def test_an_application_ends_while_its_worker_waits_for_its_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "FIRST_WAIT_S", 3600.0)
    log = io.StringIO()
    road = Postroad(f"sqlite:///{tmp_path}/road.db", parts=Parts(log=make_log("info", log)))

    async def story() -> None:
        async with asyncio.timeout(60), web.lifespan(road, worker=True)(None):
            (await running(road)).broke(RuntimeError("torn"))
            await until(lambda: "again_in_s=3600" in log.getvalue())

    asyncio.run(story())
