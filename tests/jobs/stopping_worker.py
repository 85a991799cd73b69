"""A worker whose jobs tell that they run, and how they end: `python -m … DSN FOLDER`."""

import asyncio
import sys
import threading
import time
from pathlib import Path

from postroad import Message, Postroad

road = Postroad(sys.argv[1])
folder = Path(sys.argv[2])


@road.handler("async", timeout=120)
async def on_async(message: Message[str]) -> None:
    (folder / f"{message.body}.began").touch()
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        (folder / f"{message.body}.stopped").touch()
        raise
    (folder / f"{message.body}.done").touch()


@road.handler("thread", timeout=120)
def in_thread(message: Message[str]) -> None:
    (folder / f"{message.body}.began").touch()
    while not message.cancelled:
        time.sleep(0.02)
    (folder / f"{message.body}.stopped").touch()
    raise InterruptedError


@road.handler("process", timeout=120, process=True, concurrency=32)
def in_process(message: Message[str]) -> None:
    (folder / f"{message.body}.began").touch()
    try:
        threading.Event().wait(100)
    finally:
        (folder / f"{message.body}.stopped").touch()
    (folder / f"{message.body}.done").touch()


async def main() -> None:
    async with road:
        (folder / f"{road.owner}.here").touch()
        await road.run()


if __name__ == "__main__":
    asyncio.run(main())
