"""All vectors through the real transport, with a listener that counts: `… FOLDER guarded|open`.

In a network of its own every address leads to that listener; without one the loopback ones do.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.errors import BadInput
from postroad.model.keyring import KeyRing
from postroad.model.webhook import WebhookRules
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore
from postroad.transports.webhook import addresses, guard
from postroad.transports.webhook.endpoints import Endpoints
from postroad.transports.webhook.transport import WebhookTransport
from tests.webhook.vectors import PUBLIC, Vector, url_of, vectors

TRY_MS = 1_500


class Listener:
    """Counts the connections that are made to it, at whatever address."""

    def __init__(self) -> None:
        self.connects = 0
        self.proxied = 0
        self._socket = socket.socket(socket.AF_INET6)
        self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self._socket.bind(("::", 0))
        self._socket.listen(512)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            self.connects += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            asked = connection.recv(65536)
            self.proxied += asked.startswith((b"POST http", b"CONNECT"))
            where = f"http://127.0.0.1:{self.port}/again".encode()
            connection.sendall(b"HTTP/1.1 302 Found\r\nlocation: %s\r\n" % where)
            connection.sendall(b"content-length: 0\r\nconnection: close\r\n\r\n")
            connection.close()
        except OSError:
            pass

    async def settled(self) -> int:
        """All that the kernel has accepted is counted: one more of our own comes last."""
        before = self.connects
        with socket.create_connection(("127.0.0.1", self.port)):
            while self.connects == before:
                await asyncio.sleep(0.001)
        self.connects -= 1
        return self.connects


class Rebinding:
    """A resolver that says one thing when a name is vetted and another one later."""

    def __init__(self) -> None:
        self.answers: tuple[str, ...] = ()

    async def __call__(self, _name: str) -> list[str]:
        return list(self.answers)


class Stand:
    """One transport, used as the engine uses it."""

    def __init__(self, store: SqliteStore) -> None:
        clock = SystemClock()
        rules = WebhookRules(http=True, ports=(), timeout_ms=TRY_MS, connect_timeout_ms=1_000)
        self.resolver = Rebinding()
        self.transport = WebhookTransport(
            rules, Endpoints(store, KeyRing([], os.urandom), rules, clock), clock,
            resolve=self.resolver,
        )  # fmt: skip

    async def lead(self, vector: Vector) -> str:
        """What becomes of a vector: refused when it is sent, or the outcome of its try."""
        self.resolver.answers = vector.first
        try:
            lane = self.transport.address(vector.url, "default")
        except BadInput:
            return "refused: unreadable"
        said = ""
        try:
            await self.transport.vet(vector.url)
        except BadInput:
            said = "refused, "  # and what was sent before it turned bad is tried
        self.resolver.answers = vector.then or vector.first
        return said + await self.one_try(lane, vector.url)

    async def one_try(self, lane: LaneKey, url: str) -> str:
        session = await self.transport.open(lane)
        queue = Queue(1, "default", url, Policy(), (1,))
        message = Message(7, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1 << 62, b"{}")
        try:
            outcome = await session.send(queue, message)
        finally:
            await session.close()
        return f"{outcome.kind}: {outcome.error}"


async def run(folder: Path, mode: str) -> dict[str, object]:
    listener = Listener()
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        os.environ[name] = f"http://127.0.0.1:{listener.port}"
    if mode == "open":
        addresses.forbidden = lambda *_: ""
    everywhere = connects_everywhere(listener.port)
    if everywhere:
        guard._is_ours = lambda address: False  # noqa: ARG005  # here every address is this machine's own
    await listener.settled()
    listener.connects = listener.proxied = 0
    store = SqliteStore(folder / "road.db", SystemClock())
    await store.open()
    stand = Stand(store)
    told = []
    for vector in vectors(listener.port):
        before = listener.connects
        said = await stand.lead(vector)
        connects = await listener.settled() - before
        told.append([vector.kind, vector.url, connects, said])
    public = []
    for address in PUBLIC:
        before = listener.connects
        said = await stand.lead(Vector("public", url_of(address, listener.port)))
        public.append([address, await listener.settled() - before, said])
    await store.close()
    return {
        "told": told,
        "public": public,
        "everywhere": everywhere,
        "proxied": listener.proxied,
    }


def connects_everywhere(port: int) -> bool:
    """Whether this network leads every address to us."""
    try:
        with socket.create_connection(("198.51.100.7", port), timeout=0.5):
            return True
    except OSError:
        return False


def lead_everything_here() -> None:
    for order in (
        "ip link set lo up",
        "ip route add local 0.0.0.0/0 dev lo",
        "ip -6 route add local ::/0 dev lo",
    ):
        subprocess.run(order.split(), check=True)


if __name__ == "__main__":
    if sys.argv[3:] == ["alone"]:
        lead_everything_here()
    sys.stdout.write(json.dumps(asyncio.run(run(Path(sys.argv[1]), sys.argv[2]))))
