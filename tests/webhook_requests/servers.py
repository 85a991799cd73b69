"""Servers in threads of this process: receivers and token servers, with TLS where asked for."""

import json
import ssl
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from msgspec import Struct

from tests.webhook_requests.authority import Authority


class Got(Struct):
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes
    client: str
    """The name in the certificate that was shown."""


Answer = Callable[[Got], tuple[int, bytes]]


class Stand:
    """A server, and what it got."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.got: list[Got] = []
        self.answer: Answer = lambda _: (200, b"ok")


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Stand]:
    """A server on a free port of the loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            got = Got(self.path, headers, body, _client(self.connection))
            stand.got.append(got)
            status, said = stand.answer(got)
            self.send_response(status)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Handshakes that fail are what some tests are about."""

        def finish_request(self, request: Any, address: Any) -> None:
            # In the thread of the connection: one that does not speak TLS holds up nobody else.
            if tls is None:
                super().finish_request(request, address)
                return
            with request.dup() as below:
                try:
                    with tls.wrap_socket(request, server_side=True) as secured:
                        super().finish_request(secured, address)
                except ssl.SSLError:
                    # A reset would overtake the alert: read to the end, as real servers do.
                    below.settimeout(10)
                    while below.recv(4_096):
                        pass

    server = Server(("127.0.0.1", 0), Handler)
    stand = Stand(f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield stand
    finally:
        server.shutdown()
        server.server_close()


def _client(connection: Any) -> str:
    shown = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    subject: Any = shown["subject"] if shown else ()
    return str(dict(part[0] for part in subject).get("commonName", ""))


def tls_server(folder: Path, authority: Authority, clients: Authority | None) -> ssl.SSLContext:
    """The side of a server; with `clients` it wants a certificate that this authority signed."""
    certificate, key = authority.certificate("the receiver")
    file = folder / "server.pem"
    file.write_text(certificate + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.pem)
    return context


class TokenServer:
    """Gives tokens to one client: `token-1`, `token-2`…"""

    def __init__(self, stand: Stand, secret: str = "hush hush hush") -> None:
        self.stand = stand
        self.secret = secret
        self.status = 0
        """Answered instead, if it is set."""
        self.lasts_s = 3_600
        self.given = 0
        stand.answer = self._answer

    @property
    def token(self) -> str:
        return f"Bearer token-{self.given}"

    def _answer(self, got: Got) -> tuple[int, bytes]:
        fields = {name: texts[0] for name, texts in parse_qs(got.body.decode()).items()}
        assert fields["grant_type"] == "client_credentials"
        if self.status:
            return self.status, b"not now"
        pair = b64decode(got.headers.get("authorization", "Basic ").removeprefix("Basic ")).decode()
        told = pair or f"{fields.get('client_id')}:{fields.get('client_secret')}"
        if told.replace("+", " ") != f"ours:{self.secret}":
            said = {"error": "invalid_client", "error_description": f"no, not {told}"}
            return 401, json.dumps(said).encode()
        self.given += 1
        said = {"access_token": f"token-{self.given}", "token_type": "Bearer"}
        return 200, json.dumps(said | {"expires_in": self.lasts_s}).encode()
