"""Strangers at the hub's door: bounded in number, in time and in what they may guess."""

import asyncio
import gc
import json
import os
import resource
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from postroad.hub import connection_limits
from postroad.hub.connection_limits import HubConnectionLimits
from postroad.hub.frames import JSON, MSGPACK, Codec
from postroad.hub.http import HttpProtocol
from postroad.hub.server import UndecidedConnection
from postroad.hub.socket import WebSocketSession
from postroad.model.mailbox import HubLimits
from postroad.model.networks import network
from tests.hub.raw import ask, closed, dial, http
from tests.hub.serving import Served, serving, some_boxes


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def steady_s(self) -> float:
        return self.now_s


class Lines:
    """A log: what was said, how often."""

    def __init__(self) -> None:
        self.said: list[tuple[str, dict[str, Any]]] = []

    def warning(self, what: str, **more: object) -> None:
        self.said.append((what, dict(more)))


def at_the_door(limits: HubLimits) -> tuple[HubConnectionLimits, Hands, Lines]:
    clock, lines = Hands(), Lines()
    return HubConnectionLimits(limits, clock, lines), clock, lines  # type: ignore[arg-type]


def test_an_address_has_its_share_and_the_process_keeps_descriptors_for_deliveries() -> None:
    door, _, lines = at_the_door(HubLimits(connections_max=8, address_connections_max=3))
    assert [door.enter("192.0.2.1") for _ in range(5)] == [0, 0, 0, 429, 429]
    assert [door.enter(f"192.0.2.{n}") for n in range(2, 7)] == [0, 0, 0, 503, 503]
    assert door.total == 10
    for _ in range(5):
        door.leave("192.0.2.1")
    assert door.enter("192.0.2.1") == 0
    assert [what for what, _ in lines.said] == [
        "too many hub connections from one address",
        "the hub is full",
    ]


@pytest.mark.parametrize(("soft", "most"), [(1_024, 384), (256, 64), (65_536, 64_896)])
def test_descriptors_are_kept_back(monkeypatch: pytest.MonkeyPatch, soft: int, most: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))
    assert connection_limits.connections_possible() == most
    door, _, _ = at_the_door(HubLimits())
    assert [door.enter(f"host {n}") for n in range(most + 1)] == [0] * most + [503]


def test_one_line_a_minute_says_how_many_were_refused() -> None:
    door, clock, lines = at_the_door(HubLimits(address_connections_max=1))
    for _ in range(5_000):
        door.enter("192.0.2.1")
    clock.now_s += 61.0
    door.enter("192.0.2.1")
    what = "too many hub connections from one address"
    assert lines.said == [
        (what, {"address": "192.0.2.1", "refused": 1}),
        (what, {"address": "192.0.2.1", "refused": 4_999}),
    ]


@pytest.mark.parametrize(
    ("address", "one"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_a_network_of_ipv6_is_one_visitor(address: str, one: str) -> None:
    assert network(address) == one


def test_wrong_tokens_are_counted_for_a_minute_and_those_who_guess_are_few() -> None:
    door, clock, lines = at_the_door(HubLimits(wrong_tokens_max=10))
    assert not door.wrong("192.0.2.1", 10)
    assert door.wrong("192.0.2.1", 1)
    assert door.enter("192.0.2.1") == 429
    assert door.enter("192.0.2.2") == 0
    clock.now_s += 61.0
    assert door.enter("192.0.2.1") == 0
    assert not door.wrong("192.0.2.1", 1)
    assert len(lines.said) == 1
    for n in range(20_000):
        door.wrong(f"host {n}", 1)
    assert len(door._wrong) == connection_limits.NETWORKS_MAX


GUESSES: list[Callable[[str], object]] = [
    lambda box: {"do": "sub", "boxes": [[box, f"wrong {n}"] for n in range(20)]},
    lambda box: {"do": "watch", "boxes": [[box, f"wrong {n}"] for n in range(20)]},
]


@pytest.mark.parametrize("guess", GUESSES)
async def test_who_guesses_tokens_by_the_frame_is_closed_and_kept_out(
    tmp_path: Path, guess: Callable[[str], object]
) -> None:
    async with serving(tmp_path / "hub.db", HubLimits(wrong_tokens_max=30)) as served:
        async with served.client() as client:
            (box,) = await some_boxes(client, 1)
            async with dial(served) as ws:
                assert len((await ask(ws, guess(box.box)))["refused"]) == 20
                with pytest.raises(ConnectionClosed):
                    for _ in range(3):
                        await ask(ws, guess(box.box))
                assert await closed(ws) == (1008, "too many wrong tokens: wait a minute")
            with pytest.raises(InvalidStatus, match="429"):
                async with dial(served):
                    pass
            # Those who are in, and show right tokens, are not disturbed.
            assert await client.send(box.box, box.sender_token, "hello") == 1


async def test_who_guesses_one_by_one_is_closed_too(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db", HubLimits(wrong_tokens_max=8)) as served:
        async with served.client() as client:
            (box,) = await some_boxes(client, 1)
        path = f"/v1/mailboxes/{box.box}/messages"
        said = [(await http(served, "POST", path, f"wrong {n}", b"x"))[0] for n in range(9)]
        assert said == [403] * 8 + [429]
        with pytest.raises(InvalidStatus, match="429"):
            async with dial(served):
                pass


async def test_a_message_whose_rest_does_not_come_is_closed(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db", HubLimits(request_s=0.3)) as served:
        async with dial(served) as ws:
            endless = asyncio.Event()

            async def parts() -> AsyncIterator[str]:
                yield '{"do": '
                await endless.wait()

            sending = asyncio.create_task(ws.send(parts()))
            assert await closed(ws) == (1008, "the message took too long")
            endless.set()
            await asyncio.gather(sending, return_exceptions=True)
        assert not served.server._due


def deaf_socket(served: Served) -> socket.socket:
    """One that takes little, because nobody reads from it; nor does the kernel in between."""
    listening = served.server._listening
    assert listening is not None
    with socket.socket(fileno=os.dup(listening.sockets[0].fileno())) as heir:
        heir.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    way = socket.socket()
    way.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    way.connect(("127.0.0.1", served.port))
    way.setblocking(False)
    return way


async def everybody_left(served: Served, but: int) -> None:
    async with asyncio.timeout(60):
        while served.server.connection_limits.total > but:
            await asyncio.sleep(0.02)


async def test_who_errs_by_http_and_never_reads_the_answer_does_not_stay(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db", HubLimits(stall_s=0.5)) as served:
        async with served.client() as client:
            (box,) = await some_boxes(client, 1)
            await client.send(box.box, box.sender_token, "x" * 20_000)
            way, loop = deaf_socket(served), asyncio.get_running_loop()
            head = f"GET /v1/mailboxes/{box.box}/messages HTTP/1.1\r\nhost: hub\r\n"
            asking = f"{head}authorization: Bearer {box.recipient_token}\r\n\r\n".encode()
            buffered = 0
            async with asyncio.timeout(60):
                while not buffered:
                    before = served.hub.commits
                    await loop.sock_sendall(way, asking)
                    while served.hub.commits == before:
                        await asyncio.sleep(0.002)
                    inside = [each for each in served.server._due if isinstance(each, HttpProtocol)]
                    ways = [each._transport for each in inside if each._transport]
                    buffered = sum(each.get_write_buffer_size() for each in ways)
            assert buffered < 64 * 1024  # it is not known yet that nobody reads
            await loop.sock_sendall(way, b"NONSENSE\r\n\r\n")
            await everybody_left(served, but=1)
            way.close()


async def test_who_says_goodbye_and_never_reads_does_not_stay(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served, served.client() as client:
        boxes = await some_boxes(client, 30)
        for box in boxes:
            await client.send(box.box, box.sender_token, "x" * 20_000)
        way, loop = deaf_socket(served), asyncio.get_running_loop()
        await loop.sock_sendall(way, UPGRADE)
        async with asyncio.timeout(60):
            for count, box in enumerate(boxes):
                asked = {"do": "sub", "boxes": [[box.box, box.recipient_token]]}
                await loop.sock_sendall(way, frame(1, json.dumps(asked).encode()))
                while served.hub.status().unacked <= count:
                    await asyncio.sleep(0.002)
                if served.hub.status().buffered_bytes:
                    break
        assert 0 < served.hub.status().buffered_bytes < 64 * 1024  # that nobody reads is not known
        await loop.sock_sendall(way, frame(8, b""))
        await everybody_left(served, but=1)
        way.close()


async def test_a_hub_stops_although_somebody_never_reads(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        async with served.client() as client:
            boxes = await some_boxes(client, 30)
            for box in boxes:
                await client.send(box.box, box.sender_token, "x" * 20_000)
            way, loop = deaf_socket(served), asyncio.get_running_loop()
            await loop.sock_sendall(way, UPGRADE)
            pairs = [[box.box, box.recipient_token] for box in boxes]
            asked = json.dumps({"do": "sub", "boxes": pairs}).encode()
            await loop.sock_sendall(way, frame(1, asked))
            async with asyncio.timeout(60):
                while not served.hub.status().buffered_bytes:
                    await asyncio.sleep(0.01)
    await everybody_left(served, but=0)
    way.close()


UPGRADE = (
    b"GET / HTTP/1.1\r\nhost: hub\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
)


def frame(kind: int, payload: bytes) -> bytes:
    """One WebSocket frame of a client, with a mask of zeros."""
    size = bytes([128 + len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2)
    return bytes([128 + kind]) + size + bytes(4) + payload


async def test_a_length_and_chunks_as_well_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(
            b"POST /v1/mailboxes/a/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n"
            b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n"
        )
        answer = await asyncio.wait_for(reader.read(), 60)
        assert b" 400 " in answer.splitlines()[0]
        writer.close()


async def test_a_body_of_very_many_chunks_is_refused(tmp_path: Path) -> None:
    head = (
        b"POST /v1/mailboxes/a/messages HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    async with serving(tmp_path / "hub.db", HubLimits(pieces_max=100)) as served:
        for count, status in ((100, b"403"), (101, b"413")):
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(head + b"1\r\nx\r\n" * count + b"0\r\n\r\n")
            first = await asyncio.wait_for(reader.readline(), 60)
            assert first.split()[1] == status
            writer.close()


# What comes is read in linear time: 16 times as much takes 32 times as long at most.


def _door(count: int) -> Callable[[], None]:
    door = UndecidedConnection(MagicMock(), "somewhere")
    door._transport = MagicMock()
    data = [b"x"] * count

    def read() -> None:
        for piece in data:
            door.data_received(piece)

    return read


def _http(count: int) -> Callable[[], None]:
    hub = MagicMock()
    hub.limits = HubLimits(pieces_max=1 << 30, body_bytes_max=1 << 30)
    protocol = HttpProtocol(hub, MagicMock(), MagicMock(), lambda _: False)
    transport = MagicMock()
    transport.get_write_buffer_size.return_value = 0
    protocol.begin(transport)
    head = (
        b"POST /v1/mailboxes/a/messages HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    return lambda: protocol.data_received(head + b"1\r\nx\r\n" * count)


def _pieces(count: int) -> Callable[[], None]:
    hub = MagicMock()
    hub.limits = HubLimits(frame_bytes_max=1 << 30)
    link = WebSocketSession(hub, MagicMock(), Codec(JSON), lambda _: False, MagicMock())
    link.on_ws_connected(MagicMock())

    def read() -> None:
        for _ in range(count):
            link._gather(b"xxxx", last=False)

    return read


def _frame(kind: str, payload: Callable[[int], bytes]) -> Callable[[int], Callable[[], None]]:
    def of(count: int) -> Callable[[], None]:
        codec, given = Codec(kind), payload(count)

        def read() -> None:
            _ = codec.command(given)  # an error, or not
            try:
                _ = codec.event(given)
            except Exception:  # noqa: BLE001 - only how long it takes is asked
                return

        return read

    return of


DOORS: dict[str, tuple[Callable[[int], Callable[[], None]], int]] = {
    "head, byte by byte": (_door, 1_000),
    "chunks of one byte": (_http, 500),
    "a message in pieces": (_pieces, 2_000),
    "deep JSON": (_frame(JSON, lambda n: b"[" * n), 4_000),
    "deep objects": (_frame(JSON, lambda n: b'{"a":' * n), 4_000),
    "deep MessagePack": (_frame(MSGPACK, lambda n: b"\x91" * n), 4_000),
    "blanks": (_frame(JSON, lambda n: b" " * n + b"x"), 10_000),
    "escapes": (_frame(JSON, lambda n: b'{"do":"' + b"\\u0041" * n + b'"}'), 2_000),
    "names": (
        _frame(JSON, lambda n: json.dumps({"do": "sub", "boxes": [["a", "b"]] * n}).encode()),
        500,
    ),
    "a long name": (
        _frame(JSON, lambda n: b'{"do":"ack","id":1,"box":"' + b"a" * n + b'"}'),
        10_000,
    ),
    "digits": (_frame(JSON, lambda n: b'{"do":"ack","box":"a","id":' + b"9" * n + b"}"), 2_000),
}


@pytest.mark.parametrize("name", DOORS)
def test_what_a_stranger_sends_is_read_in_linear_time(name: str) -> None:
    make, count = DOORS[name]

    def least_s(size: int) -> float:
        took: list[float] = []
        for _ in range(5):
            read = make(size)
            gc.disable()  # it looks through whatever else is in this process
            began = time.thread_time()
            read()
            took.append(time.thread_time() - began)
            gc.enable()
        return min(took)

    def ratio() -> float:
        small_s = max(least_s(count), 20e-6)  # below it only the clock is measured
        return least_s(16 * count) / small_s

    # What is quadratic takes 256 times as long, each time.
    assert any(ratio() <= 48 for _ in range(3))


# TLS without a proxy
