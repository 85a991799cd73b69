"""`… DSN LEDGER FIRST END STEP`: publishes events by number and delivers, until all of its numbers are in the
ledger; then it goes on delivering until it is killed."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from postroad import Postroad
from postroad.config import Settings
from postroad.model.errors import StoreError
from postroad.model.limits import Limits
from tests.events.plan import CHANGE_EVERY, KINDS, MAKE_EVERY, body_of, tenant_of, tenants
from tests.webhook.conftest import LOCAL

QUICK = structs.replace(Limits(), beat_ms=200, stale_ms=1_000, lease_ms=1_500)
"""A killed worker's lanes are taken over soon."""


def make_road(dsn: str) -> Postroad:
    return Postroad(dsn, settings=Settings(webhooks=LOCAL, limits=QUICK, log_level="error"))


class Ledger:
    """What was accepted: a line is on the disk before the next event is published."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a")
        self.known = {int(line.split()[0]) for line in path.read_text().splitlines() if line}

    def write(self, number: int, event: str, count: int) -> None:
        self._file.write(f"{number} {event} {count}\n")
        self._file.flush()
        os.fsync(self._file.fileno())


async def publish_all(road: Postroad, ledger: Ledger, numbers: range) -> None:
    for number in numbers:
        if number in ledger.known:
            continue
        while True:
            # Perhaps it was stored before a kill or a lost connection: the key tells.
            with suppress(StoreError):
                await publish(road, ledger, number)
                break
            await asyncio.sleep(0.05)


async def publish(road: Postroad, ledger: Ledger, number: int) -> None:
    tenant = tenant_of(number)
    if number % CHANGE_EVERY == 0:  # the set's version moves under everybody
        (first,) = (await road.endpoints.list(limit=1, tenant=tenant)).endpoints
        await road.endpoints.change(first.id, description=str(number), tenant=tenant)
    if number % MAKE_EVERY == 0:
        (first,) = (await road.endpoints.list(limit=1, tenant=tenant)).endpoints
        url = first.url.partition("?")[0] + "?never"
        await road.endpoints.create(url, types=("never",), tenant=tenant)
    kind = KINDS[number % len(KINDS)]
    said = await road.publish(kind, body_of(number), tenant=tenant, key=str(number))
    ledger.write(number, said.id, len(said.messages))


async def main(dsn: str, ledger: str, first: str, end: str, step: str) -> None:
    assert tenants()
    while True:
        with suppress(StoreError):
            async with make_road(dsn) as road:
                road.hears_signals = False
                running = asyncio.ensure_future(road.run())
                numbers = range(int(first), int(end), int(step))
                await publish_all(road, Ledger(Path(ledger)), numbers)
                await running
        await asyncio.sleep(0.1)  # the database was away at the start


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
