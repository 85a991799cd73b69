"""One limit, four processes that come and go; the short twin of `make proof ITEM=pace`."""

from collections.abc import Iterator

import pytest

from tests.pacing.killing import RATE, run_workers
from tests.servers.postgres import PrivatePostgres


@pytest.fixture(scope="module")
def server(postroad_server_versions: list[str]) -> Iterator[PrivatePostgres]:
    with PrivatePostgres() as pg:
        postroad_server_versions.append(f"PostgreSQL {pg.version // 10_000}.{pg.version % 10_000}")
        yield pg


def test_killed_and_restarted_workers_never_exceed_their_limit(server: PrivatePostgres) -> None:
    seen = run_workers(server.create_database(), 8.0, kills=True)
    assert seen.most <= RATE, seen
    assert seen.processes >= 2, seen
    assert seen.starts > RATE, seen
