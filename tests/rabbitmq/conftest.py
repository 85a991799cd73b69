"""A vhost of the broker for each test. Coroutines are run, bounded."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from postroad.stores.rabbitmq.topology import creating
from tests.servers.rabbitmq import PrivateRabbit

PATIENCE_S = 120


@pytest.fixture
def dsn(broker: PrivateRabbit) -> Iterator[str]:
    lent = broker.borrow_vhost()
    yield lent
    broker.give_back(lent)


@pytest.fixture
def new_dsn(broker: PrivateRabbit) -> Iterator[str]:
    """One in which there is nothing at all."""
    made = broker.create_vhost()
    yield made
    broker.delete_vhost(made)


@pytest.fixture(autouse=True)
def lines_are_safe_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not kill the broker need not wait until it has written all of a new queue."""
    monkeypatch.setattr(creating, "SAFE_S", 0.0)


@pytest.fixture
def within() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine, bounded."""

    def run(story: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(PATIENCE_S):
                return await story

        return asyncio.run(bounded())

    return run


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A coroutine is run in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})

    asyncio.run(bounded())
    return True
