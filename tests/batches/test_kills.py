"""Batches on a fleet whose workers are killed: what follows each is sent once, the counts are exact."""

import asyncio

from tests.batches.killing import kill_batches
from tests.servers.postgres import PrivatePostgres


def test_what_follows_a_batch_is_sent_once_whoever_is_killed(server: PrivatePostgres) -> None:
    report = asyncio.run(kill_batches(server.create_road(), 4, 1_000, 0.3, kills=(1, 2)))
    assert report.breaches == []
    assert report.exact == 4
    assert report.kills >= 1
    assert report.dead >= 80
