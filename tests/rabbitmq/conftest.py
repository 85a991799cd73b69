"""A broker for all tests of this folder, and a vhost for each. Coroutines are run, bounded."""

import asyncio
import inspect
from collections.abc import Iterator

import pytest

from tests.servers.rabbitmq import PrivateRabbit

PATIENCE_S = 120.0


@pytest.fixture(scope="session")
def rabbit(postroad_server_versions: list[str]) -> Iterator[PrivateRabbit]:
    with PrivateRabbit() as broker:
        postroad_server_versions.append(f"RabbitMQ {broker.version}")
        yield broker


@pytest.fixture
def dsn(rabbit: PrivateRabbit) -> Iterator[str]:
    """An empty vhost."""
    made = rabbit.create_vhost()
    yield made
    rabbit.delete_vhost(made)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A coroutine is run in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await pyfuncitem.obj(**given)

    asyncio.run(bounded())
    return True
