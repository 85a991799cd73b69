"""Clients that never finish: each is ended, told in one line, and keeps nobody else out."""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from postroad.api import listening
from postroad.api.connections import ConnectionLimits
from postroad.api.listening import StrictProtocol
from tests.api.served import Line, Served
from tests.servers.certificates import certify

QUICK = ConnectionLimits(head_s=0.3, body_s=0.3)
TOLD = "connections to the API were ended"


async def drip(line: Line, piece: bytes, every_s: float = 0.05) -> bytes:
    """Send the same again and again; what the server said before it closed."""

    async def more() -> None:
        while True:
            line.send(piece)
            await asyncio.sleep(every_s)

    dripping = asyncio.ensure_future(more())
    try:
        return await line.ended()
    finally:
        dripping.cancel()


async def test_heads_that_never_end_are_ended_and_said_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Served(tmp_path, limits=QUICK) as stand:
        silent, half, slow, blank = [await stand.line() for _ in range(4)]
        half.send(b"GET /healthz HTTP/1.1\r\nHost: local")
        ends = await asyncio.gather(
            silent.ended(), half.ended(), drip(slow, b"x"), drip(blank, b"\r\n")
        )
        assert ends[0] == b""
        assert b" 408 " in ends[1]
        assert b"request-timeout" in ends[1]
        second = await stand.line()  # what was answered once has no more time than the others
        second.send(stand.head("GET", "/healthz"))
        assert (await second.answer())[0] == 200
        assert b" 200 " not in await drip(second, b"\r\n")
        assert await stand.works()
    assert caplog.text.count(TOLD) == 1


async def test_a_body_that_stands_still_is_ended_and_one_that_moves_is_not(tmp_path: Path) -> None:
    async with Served(tmp_path, limits=ConnectionLimits(head_s=5.0, body_s=1.5)) as stand:
        good = b'{"queue": "good", "body": "%s"}' % (b"x" * 40_000)
        moving, still, drop = [await stand.line() for _ in range(3)]
        head = stand.head("POST", "/v1/messages", f"Content-Length: {len(good)}")
        for line in (moving, still, drop):
            line.send(head + good[:100])
        stopped = asyncio.ensure_future(still.ended())
        dripped = asyncio.ensure_future(drip(drop, b"x"))
        for start in range(100, len(good), 2_000):  # longer than a body may stand still
            moving.send(good[start : start + 2_000])
            await asyncio.sleep(0.1)
        assert (await moving.answer())[0] == 201
        assert b" 408 " in await stopped
        assert b" 408 " in await dripped
        assert (await stand.road.store.counts())["waiting"] == 1


async def test_without_the_deadlines_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StrictProtocol, "overdue", lambda _self, _now: "")
    async with Served(tmp_path, limits=QUICK) as stand:
        half = await stand.line()
        half.send(b"GET /healthz HTTP/1.1\r\n")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await half.reader.read()
        half.close()


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel keeps little of what the server writes."""
    made = StrictProtocol.connection_made

    def small(strict: StrictProtocol, transport: asyncio.Transport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        made(strict, transport)

    monkeypatch.setattr(StrictProtocol, "connection_made", small)


async def narrow_line(stand: Served) -> Line:
    """A connection whose client keeps little, either."""
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    own.connect((stand.host, stand.port))
    return Line(*await asyncio.open_connection(sock=own, limit=4_096))


@pytest.mark.usefixtures("narrow")
async def test_an_answer_that_nobody_reads_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listening, "STALL_S", 0.2)
    monkeypatch.setattr(listening, "LEAST_BYTES_S", 1 << 30)
    async with Served(tmp_path, limits=QUICK) as stand:
        line = await narrow_line(stand)
        line.writer.transport.pause_reading()  # type: ignore[attr-defined]
        line.send(stand.head("GET", "/v1/openapi.json"))
        while "answer not read" not in caplog.text:
            await asyncio.sleep(0.01)
        assert await stand.works()
        line.close()


@pytest.mark.usefixtures("narrow")
async def test_the_last_answer_is_read_whole_by_one_who_reads_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was left of it when the lingering was over was thrown away."""
    monkeypatch.setattr(listening, "LINGER_S", 0.1)
    async with Served(tmp_path, limits=QUICK) as stand:
        line = await narrow_line(stand)
        line.send(stand.head("GET", "/v1/openapi.json", "Connection: close"))
        await asyncio.sleep(0.5)
        head, _, content = (await line.ended()).partition(b"\r\n\r\n")
        line.close()
        assert f"content-length: {len(content)}\r\n" in f"{head.decode()}\r\n".lower()


async def test_silent_ones_make_room_for_those_who_speak(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Served(tmp_path, limits=ConnectionLimits(per_address=5)) as stand:
        lines = [await stand.line() for _ in range(40)]
        for line in lines[:-5]:
            assert await line.ended() == b""
        assert all(line.is_open() for line in lines[-5:])
        assert await stand.works()
        for line in lines:
            line.close()
        busy = [await stand.line() for _ in range(5)]
        for line in busy:
            line.send(stand.head("POST", "/v1/messages", "Content-Length: 10") + b"[")
        await asyncio.sleep(0.2)
        refused = await stand.line()
        assert b" 503 " in await refused.ended()
        for line in busy:
            assert line.is_open()
            line.close()
    assert caplog.text.count(TOLD) == 1


async def test_handshakes_that_never_end_are_counted_and_ended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cert, key = certify(tmp_path)
    files: dict[str, Any] = {"tls_cert_file": cert, "tls_key_file": key}
    async with Served(tmp_path, limits=ConnectionLimits(1.0, 1.0, 3), **files) as stand:
        lines = [await stand.line() for _ in range(6)]
        lines[-1].send(b"\x16\x03\x01")  # the beginning of a hello
        for line in lines:
            assert await line.ended() == b""
        trusting = ssl.create_default_context(cafile=cert)
        for _ in range(3):  # a request that comes with the last word of the handshake
            reader, writer = await asyncio.open_connection(stand.host, stand.port, ssl=trusting)
            writer.write(stand.head("GET", "/healthz") * 2)
            both = Line(reader, writer)
            assert [(await both.answer())[0] for _ in range(2)] == [200, 200]
            writer.write(b"GET /healthz HTTP/1.1\r\nHost:")
            assert b" 408 " in await both.ended()
            writer.close()
    assert caplog.text.count(TOLD) == 1


async def test_a_handshake_does_not_count_beside_its_own_connection(tmp_path: Path) -> None:
    """The last place of an address was refused to TLS: its handshake stood in the way."""
    cert, key = certify(tmp_path)
    files: dict[str, Any] = {"tls_cert_file": cert, "tls_key_file": key}
    async with Served(tmp_path, limits=ConnectionLimits(per_address=1), **files) as stand:
        trusting = ssl.create_default_context(cafile=cert)
        line = Line(*await asyncio.open_connection(stand.host, stand.port, ssl=trusting))
        line.send(stand.head("GET", "/healthz"))
        assert (await line.answer())[0] == 200
        line.close()


@pytest.mark.parametrize(("most", "few"), [(listening.DROPS_MAX, True), (1 << 30, False)])
async def test_a_request_that_drips_is_read_a_few_times_and_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, *, few: bool
) -> None:
    """Without the bound each byte is read by itself, and hundreds of clients at the same time."""
    reads = 0
    received = StrictProtocol.data_received

    def count(self: StrictProtocol, data: bytes) -> None:
        nonlocal reads
        reads += 1
        received(self, data)

    monkeypatch.setattr(StrictProtocol, "data_received", count)
    monkeypatch.setattr(listening, "DROPS_MAX", most)
    monkeypatch.setattr(listening, "REST_S", 0.7)
    async with Served(tmp_path) as stand:
        line, before = await stand.line(), reads
        for byte in stand.head("GET", "/healthz"):
            line.send(bytes([byte]))
            await asyncio.sleep(0.005)
        assert (await line.answer())[0] == 200
        assert (reads - before <= 20) is few
