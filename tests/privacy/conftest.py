"""A road on either database; coroutines are run in a loop of their own."""

import asyncio
import inspect
from pathlib import Path

import pytest

from tests.campaigns.conftest import dsn

__all__ = ["dsn"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """As asyncio.run would, for a minute at most."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}

    async def story() -> None:
        async with asyncio.timeout(150):
            await pyfuncitem.obj(**given)

    asyncio.run(story())
    return True
