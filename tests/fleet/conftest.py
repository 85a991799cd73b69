"""A fleet on a database of its own."""

from collections.abc import Iterator

import pytest

from tests.fleet.fleet import Fleet
from tests.servers.postgres import PrivatePostgres


@pytest.fixture
def dsn(server: PrivatePostgres) -> str:
    return server.create_road()


@pytest.fixture
def fleet(dsn: str) -> Iterator[Fleet]:
    with Fleet(dsn) as fleet:
        yield fleet
