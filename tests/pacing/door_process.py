"""The receiver: `python -m tests.pacing.door_process` says its port, then writes one line into
`log` for each datagram: when the kernel took it (nanoseconds), and what it says. It ends with its
stdin.

The kernel's time and not its own: a receiver that stands still for a moment on a busy machine
would see what came meanwhile as one crowd.
"""

import select
import socket
import struct
import sys
from pathlib import Path

SO_TIMESTAMPNS = 35


def main() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door,
        Path("log").open("a", buffering=1) as log,
    ):
        door.bind(("127.0.0.1", 0))
        door.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sys.stdout.write(f"{door.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            ready, _, _ = select.select([door, sys.stdin], [], [])
            if door not in ready:
                return
            body, notes, _, _ = door.recvmsg(1024, 64)
            ((_, kind, stamp),) = notes
            if kind != SO_TIMESTAMPNS:
                raise RuntimeError(f"the kernel gave {kind}, not a time")
            seconds, nanoseconds = struct.unpack("qq", stamp)
            log.write(f"{seconds * 1_000_000_000 + nanoseconds} {body.decode()}\n")


if __name__ == "__main__":
    main()
