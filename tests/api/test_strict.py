"""What two readers could read in two ways is refused; bodies are read when it is known whose."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from postroad.api.listening import StrictProtocol
from postroad.model.credential import Credential, CredentialSpec
from tests.api.served import Served

POST = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n"
DOUBTFUL = {
    "length and chunks": POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "two other lengths": POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "a list of lengths": POST + b"Content-Length: 3, 3\r\n\r\nabc",
    "a signed length": POST + b"Content-Length: +3\r\n\r\nabc",
    "a length without end": POST + b"Content-Length: 99999999999999999999999\r\n\r\n",
    "a folded line": POST + b"X-A: a\r\n b\r\n\r\n",
    "a lone CR": POST + b"X-A: a\rb\r\n\r\n",
    "a lone LF": POST + b"X-A: b\nContent-Length: 3\r\n\r\nabc",
    "a NUL": POST + b"X-A: a\0b\r\n\r\n",
    "a blank before the colon": POST + b"X-A : a\r\n\r\n",
    "chunks that are none": POST + b"Transfer-Encoding: identity\r\n\r\n",
    "chunks of something": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    "chunks in HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a bad chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n",
    "a chunk without end": POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "another version": b"GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n",
    "another server": b"GET http://other/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a tunnel": b"CONNECT other:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "raw bytes in the path": b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "many headers": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: 1\r\n" * 200 + b"\r\n",
    "long headers": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"1" * 100_000,
    "blanks": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX:" + b" " * 60_000 + b"\0\r\n\r\n",
}


async def test_what_can_be_read_in_two_ways_is_refused_and_the_connection_closed(
    tmp_path: Path,
) -> None:
    async with Served(tmp_path) as stand:
        for what, data in DOUBTFUL.items():
            line = await stand.line()
            line.send(data)
            said = await line.ended()
            assert said.split(b" ")[1] in (b"400", b"401", b"431", b"505"), (what, said)
            assert said.count(b"HTTP/1.1 4") + said.count(b"HTTP/1.1 5") == 1, (what, said)
            assert b"connection: close" in said, (what, said)
            line.close()
        assert await stand.works()


async def test_tiny_chunks_are_bounded_and_what_comes_behind_a_body_is_no_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunked = "Transfer-Encoding: chunked"
    async with Served(tmp_path) as stand:
        good = b'{"queue": "good", "body": "%s"}' % (b"x" * 5_000)
        tiny = b"".join(b"1\r\n%c\r\n" % each for each in good)
        line = await stand.line()
        line.send(stand.head("POST", "/v1/messages", chunked) + tiny + b"0\r\n\r\n")
        assert (await line.answer())[0] == 201
        trailer = stand.head("POST", "/v1/messages", chunked, token="")
        line.send(trailer + b"0\r\nAuthorization: Bearer " + stand.token.encode() + b"\r\n\r\n")
        assert (await line.answer())[0] == 401
        line.close()

        async def flood() -> bytes:
            line = await stand.line()
            line.send(stand.head("POST", "/v1/messages:batch", chunked))
            for _ in range(60):
                line.send(b"1\r\n \r\n" * 1_000)
                await asyncio.sleep(0)
            line.send(b"0\r\n\r\n")
            return (await line.ended() if line.is_open() else b"")[:400]

        assert b"chunks are too small" in await flood()
        monkeypatch.setattr(StrictProtocol, "_framing_too_much", lambda _: False)
        monkeypatch.setattr("tests.api.served.WAIT_S", 3.0)
        line = await stand.line()
        line.send(stand.head("POST", "/v1/messages:batch", chunked))
        line.send(b"1\r\n \r\n" * 60_000 + b"0\r\n\r\n")
        assert (await line.reader.readline()).startswith(b"HTTP/1.1 200")  # without the bound
        line.close()


async def test_nothing_of_a_body_is_read_before_it_is_known_who_asks(tmp_path: Path) -> None:
    asks = {
        ("/v1/messages", "", 31 << 20): 401,
        ("/v1/messages", "guess", 31 << 20): 401,
        ("/v1/messages", None, 33 << 20): 413,
        ("/v1/queues:pause", None, 2 << 20): 413,
        ("/v1/callbacks/cmp_1_1", "", 31 << 20): 403,
        ("/v1/campaigns/none/import", None, 1 << 40): 404,
        ("/nothing", "", 31 << 20): 404,
    }
    async with Served(tmp_path) as stand:
        for (path, token, size), status in asks.items():
            line = await stand.line()
            line.send(stand.head("POST", path, f"Content-Length: {size}", token=token))
            said, _ = await line.answer()  # although not a byte of the body has come
            assert said == status, path
            line.send(b"x" * 1_000)
            assert await line.ended() == b""
            line.close()
        waits = await stand.line()
        head = stand.head(
            "POST", "/v1/messages", "Content-Length: 9", "Expect: 100-continue", token=""
        )
        waits.send(head)
        assert (await waits.answer())[0] == 401  # it was not told to go on


async def test_a_body_without_an_announced_length_is_cut_at_the_limit_and_the_answer_arrives(
    tmp_path: Path,
) -> None:
    async with Served(tmp_path, request_bytes_max=100_000) as stand:
        line = await stand.line()
        line.send(stand.head("POST", "/v1/messages", "Transfer-Encoding: chunked"))
        for _ in range(200):  # a client that reads when it has sent all
            line.send(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")
            await asyncio.sleep(0)
        status, told = await line.answer()
        assert (status, "100000 bytes" in told["detail"]) == (413, True)
        line.close()


async def test_a_strangers_callback_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def noted(text: str, **options: Any) -> list[tuple[str, str]]:
        read.append(len(text))
        return parse_qsl(text, **options)

    monkeypatch.setattr("postroad.transports.sms.channel.parse_qsl", noted)
    async with Served(tmp_path) as stand:

        async def call(body: bytes, signature: str) -> int:
            header = {"x-twilio-signature": signature}
            path = "/v1/callbacks/cmp_1_1"
            return (await stand.say("POST", path, body, token="", headers=header)).status

        assert await call(b"a=1&" * 1_000, "") == 403
        assert await call(b"a=1&" * 1_000, "x" * 28) == 403  # there is no such campaign
        assert read == []

        spec = CredentialSpec("https://sms.example", callback="https://road.example")
        known = Credential(1, "default", "c", "sms", spec, "", b"")

        async def find(_campaign: int) -> Credential:
            return known

        monkeypatch.setattr(stand.road.campaign_service.store, "credential_of", find)
        assert await call(b"a=1&" * 50_000, "x" * 28) == 413
        assert read == []
        assert await call(b"a=1&" * 1_000, "x" * 28) == 400  # too many fields


async def test_pipelined_requests_are_answered_in_order_and_not_too_many(tmp_path: Path) -> None:
    async with Served(tmp_path) as stand:
        line = await stand.line()
        line.send(stand.head("GET", "/healthz") + stand.head("GET", "/readyz") * 2)
        assert [(await line.answer())[0] for _ in range(3)] == [200] * 3
        line.send(stand.head("GET", "/healthz") + b"nonsense\r\n\r\n")
        assert b" 400 " not in await line.ended()  # which would be the answer to the first
        many = await stand.line()
        many.send(stand.head("GET", "/healthz") * 5_000)
        assert (await many.ended()).count(b"HTTP/1.1 200") < 50
        assert await stand.works()
