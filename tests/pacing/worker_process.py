"""Workers: `python -m tests.pacing.worker_process DSN` has everything imported and forks one for
each line on stdin, whose process number it says. It ends with its stdin, and they with it."""

import os
import signal
import socket
import sys
import traceback

import uvloop
from msgspec.structs import replace

from postroad import Postroad
from postroad.config import Settings
from postroad.model.outcome import DELIVERED, Outcome, unknown
from postroad.model.words import LaneKey, Message, Policy, Queue
from tests.fleet.words import BRISK

FEW = replace(BRISK, room=4, claim_batch=4)
"""A process owns no more than four lanes: the limit is shared by all of them."""


class Datagrams:
    """`udp://127.0.0.1:PORT/name`: 16 lanes of one credential."""

    name = "udp"
    shards = 16

    def __init__(self, *, sends: bool) -> None:
        self._sends = sends
        self._socket: socket.socket | None = None

    def address(self, queue: str, tenant: str) -> LaneKey:
        """All queues of a server have the same credential."""
        return LaneKey(self.name, queue.split("/")[2], "key", tenant=tenant)

    def policy(self, _queue: str, /) -> Policy:
        """As shipped."""
        return Policy()

    def pools(self) -> list[str]:
        """All servers, in workers."""
        return [self.name] if self._sends else []

    def concurrency(self, _pool: str, /) -> int:
        """No limit of its own."""
        return 0

    async def open(self, _lane: LaneKey, /) -> "Datagrams":
        """One socket for all lanes."""
        self._socket = self._socket or socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        return self

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """One datagram."""
        if self._socket is None:
            raise RuntimeError("not open")
        host, _, port = queue.name.split("/")[2].partition(":")
        self._socket.sendto(f"{os.getpid()} {message.id}".encode(), (host, int(port)))
        return DELIVERED

    def overdue(self, seconds: float) -> Outcome:
        """Never comes to it."""
        return unknown(f"no answer in {seconds} s")

    async def close(self) -> None:
        """Nothing to give back."""


def road_of(dsn: str, *, sends: bool) -> Postroad:
    settings = Settings(limits=FEW, log_level="error")
    return Postroad(dsn, settings=settings, transports=[Datagrams(sends=sends)])


async def work(dsn: str) -> None:
    """Deliver until SIGTERM."""
    async with road_of(dsn, sends=True) as road:
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
