"""A road on either database, a provider, and a way to wait for something."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from postroad.campaigns import worker
from tests.campaigns.provider import Provider
from tests.servers.postgres import PrivatePostgres


@pytest.fixture(params=["sqlite", "postgres"])
def dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without anything in it."""
    if request.param == "postgres":
        found: PrivatePostgres = request.getfixturevalue("server")
        return found.create_road()
    return f"sqlite:///{tmp_path}/road.db"


@pytest.fixture(autouse=True)
def senders_are_told_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests wait for a turn of the worker, which as shipped comes once a second."""
    monkeypatch.setattr(worker, "TICK_S", 0.2)


@pytest.fixture(scope="session")
def one_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    with Provider(tmp_path_factory.mktemp("provider")) as provider:
        yield provider


@pytest.fixture
def provider(one_provider: Provider, tmp_path: Path) -> Provider:
    """One that remembers nothing."""
    one_provider.begin(tmp_path)
    return one_provider


@pytest.fixture
def within() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine, bounded."""

    def run(story: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(150):
                return await story

        return asyncio.run(bounded())

    return run
