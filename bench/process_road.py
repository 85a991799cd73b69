"""A road on SQLite whose handlers compute: `python -m bench.process_road FOLDER MESSAGES PROCESSES`.

With 0 processes the handlers run in its own threads. It prints what it recorded, received and took."""

import os
import sys
import time
from pathlib import Path

import msgspec

from postroad import Message, Postroad
from postroad.config import Settings
from postroad.ports import loop

BUSY_NS = 1_000_000
FOLDER, MESSAGES, PROCESSES = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
SINK = FOLDER / "received"
BATCH = 500


def compute(_message: Message[int]) -> None:
    """Compute for a millisecond, and leave one byte behind."""
    end_ns = time.thread_time_ns() + BUSY_NS
    while time.thread_time_ns() < end_ns:
        pass
    sink = os.open(SINK, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(sink, b".")
    os.close(sink)


async def main() -> None:
    road = Postroad(f"sqlite:///{FOLDER}/road.db", settings=Settings(log_level="warning"))
    if PROCESSES:
        road.handler("compute", process=True, concurrency=PROCESSES)(compute)
    else:
        road.handler("compute")(compute)
    async with road:
        await road.send_many([("compute", 0)] * PROCESSES or [("compute", 0)])  # children start
        await road.run(until_idle=True)
        warm = SINK.stat().st_size
        for first in range(0, MESSAGES, BATCH):
            await road.send_many(
                [("compute", n) for n in range(first, min(first + BATCH, MESSAGES))]
            )
        start_s = time.perf_counter()
        await road.run(until_idle=True)
        took_s = time.perf_counter() - start_s
        counts = await road.store.counts()
    said = {"recorded": counts["delivered"] - warm, "received": SINK.stat().st_size - warm}
    sys.stdout.write(msgspec.json.encode({**said, "seconds": took_s}).decode() + "\n")


if __name__ == "__main__":
    loop.run(main())
