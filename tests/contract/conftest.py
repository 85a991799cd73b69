"""Async tests, and the bench that each store under test is put on."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.contract.bench import Bench
from tests.contract.rigs import RIGS


@pytest.fixture(params=RIGS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A store without anything in it; it is open while the test runs."""
    return Bench(RIGS[request.param](tmp_path))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A coroutine is run in a loop of its own, in which its bench is opened and closed."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(_run(pyfuncitem.obj, given))
    return True


async def _run(test: Callable[..., Coroutine[Any, Any, None]], given: dict[str, Any]) -> None:
    async with AsyncExitStack() as stack:
        for value in given.values():
            if isinstance(value, Bench):
                await stack.enter_async_context(value)
        await test(**given)
