"""One limit, four processes that come and go; the short twin of `make proof ITEM=pace`."""

from tests.pacing.killing import RATE, run_workers
from tests.servers.postgres import PrivatePostgres


def test_killed_and_restarted_workers_never_exceed_their_limit(server: PrivatePostgres) -> None:
    seen = run_workers(server.create_road(), 8.0, kills=True)
    assert seen.most <= RATE, seen
    assert seen.processes >= 2, seen
    assert seen.starts > RATE, seen
