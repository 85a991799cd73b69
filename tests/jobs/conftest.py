"""A road on a temporary file, in real time."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from tests.campaigns.conftest import dsn

__all__ = ["dsn"]

Within = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def road(tmp_path: Path) -> Postroad:
    """A road that is not open yet, so that handlers can be registered."""
    return Postroad(f"sqlite:///{tmp_path}/road.db")


@pytest.fixture
def within() -> Within:
    """Runs a coroutine, bounded."""

    def run(story: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(150):
                return await story

        return asyncio.run(bounded())

    return run
