"""`python -m tests.campaigns.worker_process DSN LEASE_MS BROKEN`: a road that sends, until killed.

BROKEN `intents`: it does not write down what it is about to send; `record`: its recorder breaks.
"""

import asyncio
import sys
from collections.abc import Sequence

from postroad.campaigns import worker
from postroad.model.campaign import CallResult, Counts, Job
from postroad.ports.campaigns import Intents
from postroad.stores.postgres.campaigns import PostgresCampaigns
from postroad.stores.sqlite.campaigns import SqliteCampaigns
from tests.campaigns.stories import local


async def no_intents(_store: object, _owner: int, _job: Job, ns: Sequence[int]) -> Intents:
    return Intents(dict.fromkeys(ns, 1), {})


async def broken(_store: object, _campaign: int, _results: Sequence[CallResult]) -> Counts:
    raise ZeroDivisionError("somewhere deep")


async def main(dsn: str, lease_ms: str, broken_part: str) -> None:
    setattr(worker, "LEASE_MS", int(lease_ms))  # noqa: B010 - shorter than a test's patience
    if broken_part == "intents":
        setattr(PostgresCampaigns, "intend", no_intents)  # noqa: B010
    if broken_part == "record":
        setattr(SqliteCampaigns, "record", broken)  # noqa: B010
    async with local(dsn) as road:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await road.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
