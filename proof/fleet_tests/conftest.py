"""A PostgreSQL for the fleet, and what the fleet's quick tests have too."""

from collections.abc import Iterator

import pytest

from tests.fleet.conftest import dsn, fleet
from tests.fleet.test_faults import proxy
from tests.servers.postgres import PrivatePostgres

__all__ = ["dsn", "fleet", "proxy", "server"]


@pytest.fixture(scope="session")
def server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres() as pg:
        yield pg
