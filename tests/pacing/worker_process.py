"""Workers: `python -m tests.pacing.worker_process DSN SHARDS LANES` has everything imported and forks one for
each line on stdin, whose process number it says. It ends with its stdin, and they with it."""

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import uvloop
from msgspec.structs import replace

from postroad import Postroad
from postroad.config import Settings
from postroad.model.webhook import WebhookRules
from postroad.transports.webhook import requests
from postroad.transports.webhook.transport import WebhookTransport
from tests.fleet.words import BRISK

RULES = WebhookRules(allow=("127.0.0.0/8",), http=True, ports=())


@contextmanager
def sharded(shards: int) -> Iterator[None]:
    """Each server has so many lanes meanwhile, as a handler has: one lane has one worker in the fleet,
    and here several processes are to call one server at once."""
    before = WebhookTransport.shards
    WebhookTransport.shards = shards
    try:
        yield
    finally:
        WebhookTransport.shards = before


def road_of(dsn: str, lanes: int = 4) -> Postroad:
    """A process owns no more than so many lanes: the limit is shared by all of them."""
    few = replace(BRISK, in_flight_max=lanes, claim_batch=lanes)
    return Postroad(dsn, settings=Settings(limits=few, log_level="error", webhooks=RULES))


async def work(dsn: str, shards: int, lanes: int) -> None:
    """Deliver until SIGTERM."""
    requests.ALWAYS["user-agent"] = f"postroad-{os.getpid()}"  # the receiver tells them apart
    with sharded(shards):
        async with road_of(dsn, lanes) as road:
            await road.run()


def bear(dsn: str, shards: int, lanes: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        uvloop.run(work(dsn, shards, lanes))
    except BaseException:  # noqa: BLE001 - told, and then it ends whatever it was
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    born: list[int] = []
    for _line in sys.stdin:
        born.append(bear(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
        sys.stdout.write(f"{born[-1]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
