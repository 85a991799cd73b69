"""The receiver: `python -m tests.pacing.door_process` says its port, takes HTTP requests, and writes
one line into `log` for each: when the kernel took its beginning (nanoseconds), who sent it (the user
agent) and its id. It ends with its stdin.

The kernel's time and not its own: see `tests.servers.stamps`.
"""

import selectors
import socket
import sys
from pathlib import Path
from typing import TextIO

from tests.servers.stamps import receive, stamp_arrivals

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Door:
    """One connection; requests come one after the other."""

    def __init__(self, connection: socket.socket, log: TextIO) -> None:
        self.connection = connection
        self._log = log
        self._held = b""
        self._began_ns = 0

    def take(self) -> bool:
        """Read what came; False when the connection has ended."""
        try:
            data, at_ns = receive(self.connection)
        except ConnectionError:  # its sender was killed
            return False
        if not data:
            return False
        if not self._held:
            self._began_ns = at_ns
        self._held += data
        head, found, body = self._held.partition(b"\r\n\r\n")
        said = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:]) if found else {}
        if found and len(body) == int(said[b"content-length"]):
            self._held = b""
            who, which = said[b"user-agent"].decode(), said[b"webhook-id"].decode()
            self._log.write(f"{self._began_ns} {who} {which}\n")
            self.connection.sendall(OK)
        return True


def main() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        Path("log").open("a", buffering=1) as log,
    ):
        stamp_arrivals(server)
        sys.stdout.write(f"{server.getsockname()[1]}\n")
        sys.stdout.flush()
        waiting = selectors.DefaultSelector()
        waiting.register(sys.stdin, selectors.EVENT_READ)
        waiting.register(server, selectors.EVENT_READ, server)
        while True:
            for key, _ in waiting.select():
                if key.data is None:
                    return
                if key.data is server:
                    door = Door(server.accept()[0], log)
                    waiting.register(door.connection, selectors.EVENT_READ, door)
                elif not key.data.take():
                    waiting.unregister(key.fileobj)
                    key.data.connection.close()


if __name__ == "__main__":
    main()
