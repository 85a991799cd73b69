"""Receivers: `python -m tests.pacing.door_process COUNT` says their ports, takes HTTP requests, and
writes one line into `log` for each: when the kernel took its beginning (nanoseconds), who sent it (the
user agent), its id and the port. It ends with its stdin.

The kernel's time and not its own: see `tests.servers.stamps`.
"""

import selectors
import socket
import sys
from contextlib import ExitStack
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
            port = self.connection.getsockname()[1]
            self._log.write(f"{self._began_ns} {who} {which} {port}\n")
            self.connection.sendall(OK)
        return True


def main() -> None:
    with ExitStack() as stack:
        log = stack.enter_context(Path("log").open("a", buffering=1))
        servers = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            for _ in range(int(sys.argv[1]))
        ]
        waiting = selectors.DefaultSelector()
        waiting.register(sys.stdin, selectors.EVENT_READ)
        for server in servers:
            stamp_arrivals(server)
            waiting.register(server, selectors.EVENT_READ, server)
        sys.stdout.write(" ".join(str(server.getsockname()[1]) for server in servers) + "\n")
        sys.stdout.flush()
        while True:
            for key, _ in waiting.select():
                if key.data is None:
                    return
                if isinstance(key.data, socket.socket):
                    door = Door(key.data.accept()[0], log)
                    waiting.register(door.connection, selectors.EVENT_READ, door)
                elif not key.data.take():
                    waiting.unregister(key.fileobj)
                    key.data.connection.close()


if __name__ == "__main__":
    main()
