"""`… DSN URL LEDGER PLACE OF END`: delivers until it is killed. The first process publishes numbered events to an
ordered endpoint; the last one moves that endpoint from one server to the other and back."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from postroad import Postroad
from postroad.model.errors import Conflict, StoreError
from tests.events.publisher_process import Ledger, make_road


def made(moves: Path) -> int:
    return len(moves.read_text().splitlines())


async def publish(road: Postroad, ledger: Ledger, end: int, moves: Path) -> None:
    for number in range(end):
        while made(moves) < 3 * number // end:  # two moves in their midst
            await asyncio.sleep(0.02)
        while number not in ledger.known:
            with suppress(StoreError):
                said = await road.publish("order.paid", {"n": number}, key=str(number))
                ledger.write(number, said.id, len(said.messages))
                break
            await asyncio.sleep(0.05)


async def move(road: Postroad, url: str, moves: Path) -> None:
    (endpoint,) = (await road.endpoints.list()).endpoints
    hosts = ("127.0.0.1", "localhost")
    while True:
        here = hosts[0] in (await road.endpoints.get(endpoint.id)).url
        with suppress(StoreError, Conflict):
            await road.endpoints.change(endpoint.id, url=url.replace(hosts[0], hosts[here]))
            with moves.open("a") as file:
                file.write("moved\n")
        await asyncio.sleep(0.05)


async def main(dsn: str, url: str, ledger: str, place: str, of: str, end: str) -> None:
    moves = Path(f"{ledger}.moves")
    while True:
        with suppress(StoreError):
            async with make_road(dsn) as road, asyncio.TaskGroup() as tasks:
                road.hears_signals = False
                tasks.create_task(road.run())
                if int(place) == 0:
                    tasks.create_task(publish(road, Ledger(Path(ledger)), int(end), moves))
                if int(place) == int(of) - 1:
                    tasks.create_task(move(road, url, moves))
        await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
