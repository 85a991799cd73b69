"""One batch of a few thousand; `make proof ITEM=large-batch` sends one of 1,000,000."""

import asyncio

from tests.batches.large import send_large
from tests.servers.postgres import PrivatePostgres


def test_the_end_of_a_large_batch_reads_no_more(server: PrivatePostgres) -> None:
    report = asyncio.run(send_large(server.create_road(), 4_001, size=1))
    assert report.breaches == []
    assert report.delivered == 4_000
    assert report.end_blocks > 0
