"""A site whose pages load the JavaScript client, under two names: two origins for a browser."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from msgspec import Struct

PACKAGE = Path(__file__).parents[2] / "clients" / "js"


class Pages(Struct, frozen=True):
    """`origin` and `other` are the same pages."""

    origin: str
    other: str


class _Handler(SimpleHTTPRequestHandler):
    """Files of the package; any other address is an empty page."""

    def do_GET(self) -> None:
        if self.path.startswith("/src/"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A page</title><link rel=icon href=data:,>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def pages() -> Iterator[Pages]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(PACKAGE)))
    port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Pages(f"http://127.0.0.1:{port}", f"http://localhost:{port}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
