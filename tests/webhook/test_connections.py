"""Connections are used again while that is safe, and reach the vetted address alone."""

import asyncio
import gc
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from postroad.transports.webhook import connections
from postroad.transports.webhook.connections import ConnectionPool, IdleConnections
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.reading import Reader
from postroad.transports.webhook.target import read
from tests.servers.nginx import PrivateNginx
from tests.webhook.conftest import LOCAL
from tests.webhook.stand import tries

Within = Callable[[Coroutine[Any, Any, Any]], Any]
REQUEST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Server:
    """Counts its connections, and gives each request the same answer."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.opened = self.ended = 0

    async def start(self, idle: IdleConnections | None = None) -> ConnectionPool:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        target = read(f"http://hook.example:{port}/", LOCAL)
        return ConnectionPool(target, "127.0.0.1", idle or IdleConnections())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        while await reader.read(65_536):
            writer.write(self.answer)
        self.ended += 1
        writer.close()

    async def until_ended(self, count: int) -> None:
        while self.ended < count:
            await asyncio.sleep(0.005)

    def stop(self) -> None:
        self._server.close()


async def ask(way: ConnectionPool, limit_s: float = 30.0) -> int:
    until_s = asyncio.get_running_loop().time() + limit_s
    return (await way.call(REQUEST, limit_s, until_s)).status


def test_one_connection_serves_one_after_the_other(within: Within) -> None:
    async def story() -> None:
        server = Server(OK)
        way = await server.start()
        assert [await ask(way) for _ in range(5)] == [200] * 5
        assert server.opened == 1
        await asyncio.gather(*[ask(way) for _ in range(3)])
        assert server.opened == 3
        way.close()
        await server.until_ended(3)
        server.stop()

    within(story())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        OK + b"HTTP/1.1 200 OK\r\n",
    ],
)
def test_a_connection_that_says_more_or_means_to_end_is_not_used_again(
    answer: bytes, within: Within
) -> None:
    async def story() -> None:
        server = Server(answer)
        way = await server.start()
        assert [await ask(way) for _ in range(3)] == [200] * 3
        assert server.opened == 3
        await server.until_ended(3)
        server.stop()

    within(story())


def test_an_idle_connection_is_given_up_before_servers_do(
    monkeypatch: pytest.MonkeyPatch, within: Within
) -> None:
    monkeypatch.setattr(connections, "IDLE_S", 0.05)

    async def story() -> None:
        server = Server(OK)
        way = await server.start()
        await ask(way)
        await server.until_ended(1)
        await ask(way)
        assert server.opened == 2
        way.close()
        await server.until_ended(2)
        server.stop()

    within(story())


def test_of_too_many_idle_ones_that_of_the_longest_unused_server_goes(
    monkeypatch: pytest.MonkeyPatch, within: Within
) -> None:
    """Whatever server it is of; those in use do not count."""
    monkeypatch.setattr(connections, "IDLE_MAX", 2)

    async def story() -> None:
        idle, servers = IdleConnections(), [Server(OK) for _ in range(3)]
        ways = [await server.start(idle) for server in servers]
        for way in (ways[0], ways[1], ways[0], ways[2]):
            await ask(way)
        await servers[1].until_ended(1)
        await asyncio.gather(*[ask(ways[0]) for _ in range(4)])
        await servers[0].until_ended(2)
        await servers[2].until_ended(1)
        assert [await ask(way) for way in ways] == [200] * 3
        assert [server.opened for server in servers] == [4, 2, 2]
        for way, server in zip(ways, servers, strict=True):
            way.close()
            server.stop()

    within(story())


def test_a_try_that_was_cut_takes_its_connection_with_it(within: Within) -> None:
    """What still comes on it would be the answer to another request."""

    async def story() -> None:
        server = Server(b"")
        way = await server.start()
        asking = asyncio.create_task(ask(way))
        while not server.opened:
            await asyncio.sleep(0.005)
        asking.cancel()
        await server.until_ended(1)
        with pytest.raises(asyncio.CancelledError):
            await asking
        server.answer = OK
        assert await ask(way) == 200
        assert server.opened == 2
        way.close()
        await server.until_ended(2)
        server.stop()

    within(story())


def test_a_shorter_deadline_counts_on_a_connection_that_had_a_longer_one(within: Within) -> None:
    async def story() -> None:
        server = Server(OK)
        way = await server.start()
        await ask(way, 300.0)
        server.answer = b""
        with pytest.raises(Fault) as caught:
            await ask(way, 0.2)
        assert (caught.value.name, caught.value.sent) == ("timeout", True)
        assert server.opened == 1
        await server.until_ended(1)
        server.stop()

    within(story())


@pytest.mark.parametrize(
    ("host", "kind"), [("hook.example", "delivered"), ("other.example", "unreachable")]
)
def test_over_tls_the_certificate_must_name_the_host_whatever_the_address(
    host: str,
    kind: str,
    nginx: PrivateNginx,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    within: Within,
) -> None:
    async def resolve(_name: str) -> list[str]:
        return ["127.0.0.1"]

    monkeypatch.setenv("SSL_CERT_FILE", str(nginx.folder / "cert.pem"))
    connections.trust.cache_clear()
    url = f"https://{host}:{nginx.tls_port}/ok"
    told = within(tries(tmp_path, url, LOCAL, count=2, resolve=resolve))
    connections.trust.cache_clear()
    assert [tried.outcome.kind for tried in told] == [kind] * 2
    assert all(tried.outcome.details.address == f"127.0.0.1:{nginx.tls_port}" for tried in told)


def test_a_connection_with_half_a_request_in_it_is_not_used_again(within: Within) -> None:
    """Its server answered before it had read all, and may never read the rest."""

    async def story() -> None:
        opened = 0
        hold = asyncio.Event()

        async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal opened
            opened += 1
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
            await hold.wait()
            writer.close()

        server = await asyncio.start_server(hasty, "127.0.0.1", 0, limit=1_024)
        port = server.sockets[0].getsockname()[1]
        way = ConnectionPool(
            read(f"http://hook.example:{port}/", LOCAL), "127.0.0.1", IdleConnections()
        )
        size = 16 << 20
        large = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size + b"x" * size
        until_s = asyncio.get_running_loop().time() + 30
        assert (await way.call(large, 30, until_s)).status == 200
        assert await ask(way) == 200
        assert opened == 2
        hold.set()
        way.close()
        server.close()

    within(story())


def test_an_answer_takes_no_longer_than_its_try(
    tmp_path: Path, nginx: PrivateNginx, within: Within
) -> None:
    """The loop counts whole milliseconds: two of its times can be nearly one too far apart."""
    url = f"http://127.0.0.1:{nginx.port}/ok"
    for tried in within(tries(tmp_path, url, LOCAL, count=100)):
        assert 0 <= tried.outcome.details.answered_ms <= tried.took_s * 1000


def test_a_try_tells_whether_its_connection_was_made_or_was_there(
    tmp_path: Path, nginx: PrivateNginx, within: Within
) -> None:
    url = f"http://127.0.0.1:{nginx.port}/ok"
    made, *there = [each.outcome.details for each in within(tries(tmp_path, url, LOCAL, count=3))]
    assert made.connect_ms >= 1
    assert [each.connect_ms for each in there] == [0, 0]


def test_a_connection_that_is_refused_leaves_nothing_for_the_collector() -> None:
    async def refused(port: int) -> None:
        connections = ConnectionPool(
            read(f"http://hook.example:{port}/", LOCAL), "127.0.0.1", IdleConnections()
        )
        for _ in range(20):
            with pytest.raises(Fault):
                await connections.call(REQUEST, 5, asyncio.get_running_loop().time() + 5)

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound, not listening
        gc.collect()
        gc.disable()
        try:
            uvloop.run(refused(bound.getsockname()[1]))  # it makes the protocol before it connects
            left = sum(type(each) is Reader for each in gc.get_objects())
        finally:
            gc.enable()
    assert left == 0
