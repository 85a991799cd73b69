"""`… DSN`: delivers and works at replays until it is killed."""

import asyncio
import sys
from contextlib import suppress

from postroad.model.errors import StoreError
from postroad.stores import replays
from tests.events.publisher_process import make_road

SHORT_LEASE_MS = 300
"""A killed worker's replays are taken over soon."""


async def main(dsn: str) -> None:
    while True:
        with suppress(StoreError):
            async with make_road(dsn) as road:
                road.hears_signals = False
                await road.run()
        await asyncio.sleep(0.1)  # the database was away at the start


if __name__ == "__main__":
    vars(replays)["LEASE_MS"] = SHORT_LEASE_MS
    asyncio.run(main(*sys.argv[1:]))
