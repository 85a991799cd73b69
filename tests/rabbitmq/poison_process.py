"""A worker whose handler dies of a poison message: `python -m tests.rabbitmq.poison_process DSN`.
It ends by itself when there is nothing left to do."""

import asyncio
import os
import signal
import sys

from postroad import Postroad
from postroad.config import Settings
from postroad.transports.handler import Job


async def main(dsn: str) -> None:
    road = Postroad(dsn, settings=Settings(log_level="error"))

    @road.handler("quick")
    async def quick(job: Job) -> None:
        await asyncio.sleep(0.001)
        if job.body["poison"]:
            os.kill(os.getpid(), signal.SIGKILL)

    async with road:
        await road.run(until_idle=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
