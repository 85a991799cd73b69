"""A worker of the fleet: `python -m tests.timetables.worker_process DSN LEDGER`. It delivers until it
is killed, and appends a line to the ledger for each call of its handler."""

import os
import sys

import uvloop

from postroad import Message, Postroad
from postroad.config import Settings
from tests.fleet.words import BRISK


async def work(dsn: str, ledger: str) -> None:
    """Deliver what timetables send."""
    book = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    road = Postroad(dsn, settings=Settings(limits=BRISK, log_level="error"))

    @road.handler("work")
    async def note(message: Message[str]) -> None:
        os.write(book, f"{message.id} {message.body}\n".encode())

    async with road:
        await road.run()


if __name__ == "__main__":
    uvloop.run(work(sys.argv[1], sys.argv[2]))
