"""A server for all tests of this folder, and a database for each."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from tests.servers.postgres import PrivatePostgres


@pytest.fixture(scope="session")
def server(postroad_server_versions: list[str]) -> Iterator[PrivatePostgres]:
    with PrivatePostgres() as pg:
        version = pg.sql("show server_version").split()[0]
        postroad_server_versions.append(f"PostgreSQL {version}")
        yield pg


@pytest.fixture
def dsn(server: PrivatePostgres) -> str:
    return server.create_database()


@pytest.fixture
def within() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine, bounded."""

    def run(story: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(60):
                return await story

        return asyncio.run(bounded())

    return run
