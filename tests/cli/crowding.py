"""A server with few descriptors, and clients that begin a request and never end it."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

from tests.cli.running import WAIT_S, door
from tests.servers.door import Door

DESCRIPTORS = 256
CROWD = 400
PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))
if {guarded} is False:
    from postroad.api.connections import ApiConnections
    ApiConnections.admit = lambda self, line: True
from postroad.cli.main import main
main()
"""


@contextmanager
def crowded(folder: Path, *, guarded: bool) -> Iterator[tuple["subprocess.Popen[str]", Door]]:
    """The server, as a process of its own; without its guard it counts nobody."""
    program = PROGRAM.format(most=DESCRIPTORS, guarded=guarded)
    words = ["up", "--listen", "127.0.0.1:0", "--dsn", "sqlite:///road/road.db"]
    for each in (
        "webhooks.http=true",
        "webhooks.allow=127.0.0.0/8",
        "webhooks.ports=",
        "limits.in_flight_max=16",
    ):
        words += ["--set", each]
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        (sys.executable, "-c", program, *words), cwd=folder, stdout=log, stderr=log, text=True
    )
    try:
        yield process, door(process, folder)
    finally:
        process.kill()
        process.wait(WAIT_S)
        log.close()


@contextmanager
def half_heads(at: Door) -> Iterator[list[socket.socket]]:
    """So many that have begun to ask."""
    host, _, port = at.url.partition("://")[2].rpartition(":")
    with ExitStack() as stack:
        lines = []
        for _ in range(CROWD):
            line = stack.enter_context(socket.create_connection((host, int(port)), WAIT_S))
            line.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: loc")
            lines.append(line)
        yield lines


class Pending:
    """A request to send a message, all but its last byte."""

    def __init__(self, at: Door, url: str) -> None:
        host, _, port = at.url.partition("://")[2].rpartition(":")
        body = json.dumps({"queue": url, "body": 1}).encode()
        self._line = socket.create_connection((host, int(port)), WAIT_S)
        head = (
            f"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {at.token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._line.sendall(head.encode() + body[:-1])

    def finish(self) -> bytes:
        """The beginning of the answer."""
        self._line.sendall(b"}")
        return self._line.recv(1_000)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()


class Receiver:
    """Counts what arrives, and answers it."""

    def __enter__(self) -> Self:
        receiver = self
        self.got = 0

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.got += 1
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def gets(self, count: int) -> None:
        """Waits for so many."""
        until = time.monotonic() + WAIT_S
        while self.got < count:
            assert time.monotonic() < until, f"{self.got} of {count}"
            time.sleep(0.02)


def said(folder: Path, pattern: str) -> int:
    """How many lines of the server's log have it."""
    return len(re.findall(pattern, (folder / "log").read_text()))
