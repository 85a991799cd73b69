"""A hub in a process of its own, to be killed: `python -m tests.hub.server_process FILE PORT`."""

import asyncio
import sys
from pathlib import Path

import uvloop

from postroad.hub.access import keys
from postroad.hub.pump import Hub
from postroad.hub.serving import Where, serve
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore
from tests.hub.serving import CREATE, SEND


async def main(path: Path, port: int) -> None:
    clock = SystemClock()
    store = SqliteStore(path, clock)
    await store.open()

    def listening(_hub: Hub, found: int) -> None:
        sys.stdout.write(f"{found}\n")
        sys.stdout.flush()

    where = Where(port=port, keys=keys(CREATE, SEND))
    await serve(store, clock, make_log("warning"), where, listening, asyncio.Event())


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
