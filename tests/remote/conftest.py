"""Coroutines are run in a loop of their own; a server is a real one, on a port of its own."""

import asyncio
import inspect

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """As asyncio.run would."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}

    async def story() -> None:
        async with asyncio.timeout(150):
            await pyfuncitem.obj(**given)

    asyncio.run(story())
    return True
