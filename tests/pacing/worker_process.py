"""Workers: `python -m tests.pacing.worker_process DSN` has everything imported and forks one for
each line on stdin, whose process number it says. It ends with its stdin, and they with it."""

import os
import signal
import sys
import traceback

import uvloop
from msgspec.structs import replace

from postroad import Postroad
from postroad.config import Settings
from postroad.model.webhook import WebhookRules
from postroad.transports.webhook import requests
from postroad.transports.webhook.transport import WebhookTransport
from tests.fleet.words import BRISK

FEW = replace(BRISK, in_flight_max=4, claim_batch=4)
"""A process owns no more than four lanes: the limit is shared by all of them."""
RULES = WebhookRules(allow=("127.0.0.0/8",), http=True, ports=())

WebhookTransport.shards = 16
"""One server has one lane, and so one worker in the fleet. Here four processes are to call it at
once, under one limit: it has as many lanes as a handler."""


def road_of(dsn: str) -> Postroad:
    return Postroad(dsn, settings=Settings(limits=FEW, log_level="error", webhooks=RULES))


async def work(dsn: str) -> None:
    """Deliver until SIGTERM."""
    requests.ALWAYS["user-agent"] = f"postroad-{os.getpid()}"  # the receiver tells them apart
    async with road_of(dsn) as road:
        await road.run()


def bear(dsn: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        uvloop.run(work(dsn))
    except BaseException:  # noqa: BLE001 - told, and then it ends whatever it was
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    born: list[int] = []
    for _line in sys.stdin:
        born.append(bear(sys.argv[1]))
        sys.stdout.write(f"{born[-1]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
