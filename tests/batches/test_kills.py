"""Batches on a fleet whose workers are killed: what follows each is sent once, the counts are exact."""

import asyncio

from tests.batches.killing import kill_batches
from tests.servers.postgres import PrivatePostgres


def test_what_follows_a_batch_is_sent_once_whoever_is_killed(server: PrivatePostgres) -> None:
    report = asyncio.run(kill_batches(server.create_road(), 4, 1_000, every_s=0.3, kills_max=2))
    assert report.breaches == []
    assert report.members == 4_000
