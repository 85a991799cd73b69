"""A database for each test."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.servers.postgres import PrivatePostgres


@pytest.fixture
def dsn(server: PrivatePostgres) -> str:
    return server.create_road()


@pytest.fixture
def within() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine, bounded."""

    def run(story: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(150):
                return await story

        return asyncio.run(bounded())

    return run
