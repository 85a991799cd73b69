"""A hub in a process of its own, to be killed: `python -m tests.hub.server_process FILE PORT`."""

import sys
from pathlib import Path

import uvloop

from postroad.hub.access import hub_tokens
from postroad.hub.serving import HubService, ListenOptions
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore
from tests.hub.serving import CREATE, SEND


async def main(path: Path, port: int) -> None:
    clock = SystemClock()
    store = SqliteStore(path, clock)
    await store.open()
    where = ListenOptions(port=port, keys=hub_tokens(CREATE, SEND))
    station = HubService(store, clock, make_log("warning"), where)
    await station.start()
    sys.stdout.write(f"{station.port}\n")
    sys.stdout.flush()
    await station.ended()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
