"""`python -m tests.campaigns.worker_process DSN LEASE_MS`: a road that sends, until it is killed."""

import asyncio
import sys

from postroad.campaigns import crew
from tests.campaigns.stories import local


async def main(dsn: str, lease_ms: str) -> None:
    setattr(crew, "LEASE_MS", int(lease_ms))  # noqa: B010 - shorter than a test's patience
    async with local(dsn) as road:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await road.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
