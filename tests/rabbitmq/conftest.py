"""A broker for all tests of this folder, and a vhost for each."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from tests.servers.rabbitmq import PrivateRabbit


@pytest.fixture(scope="session")
def broker(postroad_server_versions: list[str]) -> Iterator[PrivateRabbit]:
    with PrivateRabbit() as rabbit:
        postroad_server_versions.append(f"RabbitMQ {rabbit.version}")
        yield rabbit


@pytest.fixture
def dsn(broker: PrivateRabbit) -> Iterator[str]:
    made = broker.create_vhost()
    yield made
    broker.delete_vhost(made)


@pytest.fixture
def within() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine, bounded."""

    def run(story: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(120):
                return await story

        return asyncio.run(bounded())

    return run
