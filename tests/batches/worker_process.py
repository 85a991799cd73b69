"""A worker of the fleet: `python -m tests.batches.worker_process DSN LEDGER`. It delivers until it is
killed, and appends a line to the ledger for each call of a handler."""

import os
import sys

import uvloop

from postroad import Message, Postroad, Reject
from postroad.config import Settings
from tests.batches.killing import dies
from tests.fleet.words import BRISK


async def work(dsn: str, ledger: str) -> None:
    """Deliver members and what follows them."""
    book = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(word: str, message: Message[list[int]]) -> None:
        batch, number = message.body
        os.write(book, f"{word} {batch} {number} {message.id}\n".encode())

    road = Postroad(dsn, settings=Settings(limits=BRISK, log_level="error"))

    @road.handler("member")
    async def member(message: Message[list[int]]) -> None:
        note("member", message)
        if dies(message.body[1]):
            raise Reject("as planned")

    @road.handler("then")
    async def then(message: Message[list[int]]) -> None:
        note("then", message)

    async with road:
        await road.run()


if __name__ == "__main__":
    uvloop.run(work(sys.argv[1], sys.argv[2]))
