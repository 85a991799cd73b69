"""A road on a temporary file, in real time; coroutines are run in a loop of their own."""

import asyncio
import inspect

import pytest

from tests.road.conftest import road, within

__all__ = ["road", "within"]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """As asyncio.run would."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
