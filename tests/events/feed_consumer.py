"""`… DSN ENDPOINT LEDGER PAGES`: reads a feed, notes what it got, and acks; after so many pages it kills itself
between reading and acking."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TextIO

from postroad import Postroad

PAGE = 7
LEASE_S = 1


async def main(dsn: str, endpoint: str, notes: TextIO, left: int) -> None:
    async with Postroad(dsn) as road:
        while True:
            page = await road.endpoints.feed(endpoint, max=PAGE, wait=20, lease=LEASE_S)
            notes.writelines(f"{one.id} {one.body}\n" for one in page.messages)
            notes.flush()
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            if page.messages:
                await road.endpoints.ack(endpoint, [one.id for one in page.messages])


if __name__ == "__main__":
    dsn, endpoint, ledger, pages = sys.argv[1:]
    with Path(ledger).open("a") as notes:
        asyncio.run(main(dsn, endpoint, notes, int(pages)))
