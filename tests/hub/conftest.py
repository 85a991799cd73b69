"""Coroutines are run in a loop of their own, the one that the hub is served from."""

import asyncio
import inspect

import pytest
import uvloop

LONGEST_S = 100


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    uvloop.run(asyncio.wait_for(test, LONGEST_S))
    return True
