"""An egress proxy: makes tunnels, wants a password where asked for, and can misbehave."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any


class Proxy:
    """Where it is, and which tunnels it was asked for."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[str] = []
        self.passwords: list[str] = []
        self.answer = b""
        """Said instead of a tunnel."""
        self.to: dict[str, tuple[str, int]] = {}
        """Where names lead to: the proxy looks them up, nobody else."""


@contextmanager
def proxying(*, wanted: str = "") -> Iterator[Proxy]:
    """A proxy on a free port of the loopback; `wanted` is the value of its credentials."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            head = self.rfile.readline().decode()
            fields = {}
            while line := self.rfile.readline().decode().strip():
                name, _, value = line.partition(": ")
                fields[name] = value
            place = head.split()[1]
            proxy.asked.append(place)
            proxy.passwords.append(fields.get("proxy-authorization", ""))
            if wanted and proxy.passwords[-1] != wanted:
                self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            elif proxy.answer:
                self.wfile.write(proxy.answer)
            else:
                self.tunnel(place)

        def tunnel(self, place: str) -> None:
            host, _, port = place.rpartition(":")
            with socket.create_connection(proxy.to.get(host, (host, int(port)))) as there:
                self.wfile.write(b"HTTP/1.0 200 Connection established\r\n\r\n")
                back = threading.Thread(target=pump, args=(there, self.connection), daemon=True)
                back.start()
                pump(self.connection, there)
                back.join(60)

    class Server(ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, *_: Any) -> None:
            """Who hangs up early is what some tests are about."""

    with Server(("127.0.0.1", 0), Handler) as server:
        proxy = Proxy(server.server_address[1])
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield proxy
        server.shutdown()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry bytes one way until one side ends."""
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
