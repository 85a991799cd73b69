"""A worker of ours in a process of its own: `python -m bench.pg_worker DSN FILE BUSY_US`.

It says "ready", waits for "go" on stdin, says how many it has taken, and ends at "stop"; the
numbers that arrived, and when, are in the file.
"""

import asyncio
import sys
import time
from array import array
from pathlib import Path

import uvloop

from postroad import Postroad
from postroad.config import Settings
from postroad.transports.handler import Job

QUEUE = "no-op"
TELL_S = 0.01


class Counter:
    """What arrived, and what a handler that is not a no-op does: it computes for so long."""

    def __init__(self, busy_us: int) -> None:
        self._busy_ns = busy_us * 1_000
        self.numbers = array("q")
        self.moments_us = array("q")

    async def take(self, message: Job) -> None:
        """The no-op handler, or one that takes some time of the processor."""
        self.numbers.append(message.body["n"])
        self.moments_us.append(time.time_ns() // 1_000)
        if self._busy_ns:
            end_ns = time.thread_time_ns() + self._busy_ns
            while time.thread_time_ns() < end_ns:
                pass

    async def tell(self) -> None:
        """How many, whenever there are more."""
        told = 0
        while True:
            if len(self.numbers) > told:
                told = len(self.numbers)
                say(str(told))
            await asyncio.sleep(TELL_S)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def work(dsn: str, path: Path, busy_us: int) -> None:
    """Deliver between "go" and "stop"."""
    counter = Counter(busy_us)
    road = Postroad(dsn, settings=Settings(log_level="warning"))
    road.handler(QUEUE)(counter.take)
    stdin = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    async with road:
        say("ready")
        await stdin.readline()
        start_cpu_s = time.process_time()
        delivery = asyncio.create_task(road.run())
        telling = asyncio.create_task(counter.tell())
        stop = asyncio.create_task(stdin.readline())
        await asyncio.wait((delivery, stop), return_when=asyncio.FIRST_COMPLETED)
        road.stop()
        await delivery  # returns when all is recorded
        say(f"over {time.process_time() - start_cpu_s}")
        telling.cancel()
    with path.open("wb") as file:
        counter.numbers.tofile(file)
        counter.moments_us.tofile(file)


if __name__ == "__main__":
    uvloop.run(work(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
