"""A hub in a process of its own: `python -m bench.hub_process FILE KIND`. It says its port, and
ends when its stdin does; at a line it says how durable its commits are."""

import asyncio
import sys
from pathlib import Path

import uvloop
from msgspec.structs import replace

from bench.hub_tasks import TaskCore
from postroad.hub.pump import Hub
from postroad.hub.server import HubServer
from postroad.model.mailbox import HubLimits
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore

KINDS = ("ours", "task-per-subscription", "task-per-subscription, one commit each")


async def serve(path: Path, kind: str) -> None:
    """As `postroad hub` does, or the other way."""
    clock = SystemClock()
    store = SqliteStore(path, clock)
    await store.open()
    limits = HubLimits()
    if kind.endswith("one commit each"):
        limits = replace(limits, commit_max=1)
    hub = Hub(store, clock, make_log("warning"), limits)
    if kind != "ours":
        hub.core = TaskCore(clock.steady_s, limits, hub.wake)
    await hub.open()
    server = HubServer(hub)
    sys.stdout.write(f"{await server.start()}\n")
    sys.stdout.flush()
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        # Read back from the connection that commits, which is at rest now.
        db = store._databases[0]  # noqa: SLF001
        ((mode,),) = db.connection.execute("pragma journal_mode").fetchall()
        level = db.pragma("synchronous")
        sys.stdout.write(f'{{"journal_mode": "{mode}", "synchronous": {level}}}\n')
        sys.stdout.flush()
    await server.stop()
    await hub.close()
    await store.close()


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1]), sys.argv[2]))
