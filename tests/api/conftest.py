"""A road with its application, asked in this process; coroutines are run in a loop of their own."""

import asyncio
import inspect
from pathlib import Path

import pytest

from tests.api.stand import Stand


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    """Not open yet: `async with stand:`."""
    return Stand(tmp_path)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """As asyncio.run would, with the stand open."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}

    async def story() -> None:
        async with asyncio.timeout(60):
            if isinstance(stand := given.get("stand"), Stand):
                async with stand:
                    await pyfuncitem.obj(**given)
            else:
                await pyfuncitem.obj(**given)

    asyncio.run(story())
    return True
