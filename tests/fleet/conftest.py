"""A PostgreSQL for the fleet, and a fleet on a database of its own."""

from collections.abc import Iterator

import pytest

from tests.fleet.fleet import Fleet
from tests.servers.postgres import PrivatePostgres


@pytest.fixture(scope="session")
def server(postroad_server_versions: list[str]) -> Iterator[PrivatePostgres]:
    with PrivatePostgres() as pg:
        postroad_server_versions.append(f"PostgreSQL {pg.version // 10_000}.{pg.version % 10_000}")
        yield pg


@pytest.fixture
def dsn(server: PrivatePostgres) -> str:
    return server.create_database()


@pytest.fixture
def fleet(dsn: str) -> Iterator[Fleet]:
    with Fleet(dsn) as fleet:
        yield fleet
