"""A road on either database that may call the loopback, and a receiver with a log."""

import asyncio
import inspect
from uuid import uuid4

import pytest

from postroad import Postroad
from postroad.config import Settings
from tests.campaigns.conftest import dsn
from tests.webhook.conftest import LOCAL, receiver

__all__ = ["dsn", "receiver"]


@pytest.fixture
def road(dsn: str) -> Postroad:
    """Not open yet: `async with road:`."""
    return Postroad(dsn, settings=Settings(webhooks=LOCAL))


@pytest.fixture
def mark() -> str:
    """A text of this test alone: the receiver has a log for all."""
    return uuid4().hex


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """As asyncio.run would, for a minute at most, with the road open."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}

    async def story() -> None:
        async with asyncio.timeout(60):
            if isinstance(road := given.get("road"), Postroad):
                async with road:
                    await pyfuncitem.obj(**given)
            else:
                await pyfuncitem.obj(**given)

    asyncio.run(story())
    return True
