"""Erases slowly, in small slices, until it is killed."""

import asyncio
import sys

from postroad.engine import erasing
from postroad.model.privacy import ErasureJob
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.stores import personal_data
from tests.privacy.tenants import new_road

SLICE = 1
"""Rows; on PostgreSQL one is a whole batch."""


async def main(dsn: str) -> None:
    personal_data.SLICE = SLICE  # type: ignore[misc]
    slices = 0
    go_on = erasing._go_on

    async def slowly(store: Store, job: ErasureJob, log: Log) -> bool:
        nonlocal slices
        moved = await go_on(store, job, log)
        if job.step == "history":
            slices += 1
            if slices == 1:
                print("begun", flush=True)  # noqa: T201
                await asyncio.sleep(3_600)
        return moved

    erasing._go_on = slowly
    async with new_road(dsn) as road:
        await erasing.run_erasures(road.store, road.log)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
