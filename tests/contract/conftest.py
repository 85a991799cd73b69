"""Async tests, and the bench that each store under test is put on."""

import asyncio
import inspect
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.contract.bench import Bench
from tests.contract.rigs import RIGS

MEMORY = Path("/dev/shm")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there is one: waiting for a disk is not what is tested here."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture(params=RIGS)
def bench(request: pytest.FixtureRequest, memory: Path) -> Bench:
    """A store without anything in it; it is open while the test runs."""
    return Bench(RIGS[request.param](memory))


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
