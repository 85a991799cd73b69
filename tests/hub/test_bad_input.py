"""Whatever comes in: a clear error or a close code, nothing in the log, nothing lost."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.typing import Subprotocol

from postroad.hub.frames import MSGPACK
from postroad.hub.http import HttpProtocol
from postroad.model.mailbox import HubLimits
from tests.hub.raw import ask, closed, dial, hear, http
from tests.hub.serving import CREATE, Served, serving, some_boxes

GARBAGE = [
    ("", "malformed"),
    ("{", "malformed"),
    ("[]", "malformed"),
    ("null", "malformed"),
    ('{"do": 7}', "malformed"),
    ('{"n": 1}', "malformed"),
    ('{"do": "dance", "n": 3}', "unknown_command"),
    ('{"do": "sub", "boxes": "all"}', "malformed"),
    ('{"do": "sub", "boxes": [["a"]]}', "malformed"),
    ('{"do": "ack", "box": "a", "id": -1}', "malformed"),
    ('{"do": "ack", "box": "a", "id": 1e300}', "malformed"),
    ('{"do": "ack", "box": "a", "id": 99999999999999999999999}', "malformed"),
    ('{"do": "ack", "box": "a", "id": 1}', "not_subscribed"),
    ('{"do": "send", "box": "a", "token": "b"}', "malformed"),
    ('{"do": "send", "box": "a", "token": "b", "body": "c", "data": "ZA=="}', "malformed"),
    ('{"do": "send", "box": "a", "token": "b", "data": "?"}', "malformed"),
    ('{"do": "send", "box": "a", "token": "b", "body": "\\ud800"}', "malformed"),
    ('{"do": "send", "box": "a\\u0000b", "token": "b", "body": "c"}', "malformed"),
    ('{"do": "send", "box": "nobody", "token": "b", "body": "c"}', "denied"),
    ('{"do": "send", "box": "' + "x" * 65 + '", "token": "b", "body": "c"}', "malformed"),
    ('{"do": "get", "box": "a", "token": "b", "wait": -1}', "malformed"),
    ('{"do": "create", "token": "wrong"}', "denied"),
    ('{"do": "create", "token": "wrong", "quota": -1}', "malformed"),
    ('{"do": "delete", "box": "a", "token": "b"}', "denied"),
    ("[" * 5_000, "malformed"),
    (json.dumps({"do": "sub", "boxes": [["a", "b"]] * 257}), "too_many"),
    (json.dumps({"do": "unsub", "boxes": ["a"] * 257}), "too_many"),
    (json.dumps({"do": "send", "box": "a", "token": "b", "body": "x" * 70_000}), "too_large"),
]


@asynccontextmanager
async def unshaken(
    path: Path,
    caplog: pytest.LogCaptureFixture,
    limits: HubLimits | None = None,
    told: tuple[str, ...] = (),
) -> AsyncIterator[Served]:
    """A hub with one message in it, which is still there afterwards; and nothing else was logged
    than what is to be told once."""
    with caplog.at_level(logging.INFO):
        async with serving(path / "hub.db", limits) as served:
            async with served.client() as client:
                (box,) = await some_boxes(client, 1)
                await client.send(box.box, box.sender_token, "still here")
                yield served
                message = await client.get(box.box, box.recipient_token)
                assert message is not None
                assert message.text == "still here"
    logged = [r for r in caplog.records if r.levelno >= logging.WARNING or r.exc_info]
    assert tuple(getattr(r, "event", r) for r in logged) == told


async def test_what_cannot_be_done_gets_an_error_that_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with unshaken(tmp_path, caplog) as served, dial(served) as ws:
        for frame, code in GARBAGE:
            answer = await ask(ws, frame)
            assert (answer["is"], answer["code"]) == ("error", code), frame[:80]
            assert answer["text"]
        assert (await ask(ws, '{"do": "dance", "n": 3}'))["n"] == 3
        assert (await ask(ws, b"\xff\xfe"))["code"] == "malformed"


async def test_a_connection_of_nothing_but_errors_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with unshaken(tmp_path, caplog) as served, dial(served) as ws:
        for _ in range(102):
            await ws.send("{")
        with pytest.raises(ConnectionClosedError):
            while True:
                assert (await hear(ws))["code"] == "malformed"
        assert await closed(ws) == (1008, "too many errors")


async def test_a_million_names_in_one_frame_close_the_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with unshaken(tmp_path, caplog) as served, dial(served, max_size=None) as ws:
        frame = json.dumps({"do": "sub", "boxes": [["a", "b"]] * 1_000_000})
        with pytest.raises(Exception, match=r"1009|reset|closed"):  # noqa: PT011, RUF100
            await ws.send(frame)
            await hear(ws)


async def test_a_message_in_pieces_is_put_together_up_to_the_limit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with unshaken(tmp_path, caplog) as served:
        async with dial(served) as ws:
            await ws.send(['{"do": "un', 'sub", "boxes"', ': [], "n": 9}'])
            assert await hear(ws) == {"is": "ok", "n": 9}
        async with dial(served) as ws:
            with pytest.raises(Exception, match=r"1009|reset|closed|too large"):  # noqa: PT011, RUF100
                await ws.send(" " * 10_000 for _ in range(40))
                await hear(ws)


async def test_messagepack_is_the_second_subprotocol_and_others_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with unshaken(tmp_path, caplog) as served:
        async with dial(served, subprotocols=[Subprotocol(MSGPACK)]) as ws:
            assert ws.subprotocol == MSGPACK
            await ws.send(msgspec.msgpack.encode({"do": "create", "n": 5, "token": CREATE}))
            made = msgspec.msgpack.decode(await ws.recv(decode=False))
            assert (made["is"], made["n"]) == ("created", 5)
            await ws.send(b"\xc1")
            assert msgspec.msgpack.decode(await ws.recv(decode=False))["code"] == "malformed"
        with pytest.raises(InvalidStatus, match="400"):
            async with dial(served, subprotocols=[Subprotocol("chess")]):
                pass


async def test_a_connect_that_never_says_what_it_wants_is_cut(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = HubLimits(handshake_s=0.5, request_s=0.5, address_connections_max=60)
    starts = [
        (b"", b"408"),
        (b"GET / HT", b"408"),
        (
            b"POST /v1/mailboxes/a/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nx",
            b"408",
        ),
        (b"\x16\x03\x01\x02\x00", b"408"),
        (b"x" * 20_000, b"431"),
        (b"NONSENSE\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nupgrade: websocket\r\n\r\n", b"400"),
    ]

    async def one(served: Served, start: bytes, status: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(start)
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.split()[1] == status, start
        writer.close()

    async with unshaken(tmp_path, caplog, limits) as served:
        await asyncio.gather(*[one(served, *start) for start in starts for _ in range(5)])
        async with asyncio.timeout(60):
            while served.server.connection_limits.total > 1:
                await asyncio.sleep(0.02)
        assert not served.server._due


async def test_too_many_connections_from_one_address_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = ("too many hub connections from one address",)
    async with unshaken(tmp_path, caplog, HubLimits(address_connections_max=3), told) as served:
        async with dial(served), dial(served):
            for _ in range(3):
                with pytest.raises(InvalidStatus, match="429"):
                    async with dial(served):
                        pass
        async with asyncio.timeout(60):
            while served.server.connection_limits.total > 1:
                await asyncio.sleep(0.02)
        async with dial(served) as ws:
            assert (await ask(ws, '{"do": "unsub", "boxes": [], "n": 1}'))["is"] == "ok"


async def test_too_many_subscriptions_on_one_connection_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db", HubLimits(subscriptions_max=2)) as served:
        async with served.client() as client, dial(served) as ws:
            boxes = [[box.box, box.recipient_token] for box in await some_boxes(client, 3)]
            assert (await ask(ws, {"do": "sub", "boxes": boxes}))["code"] == "too_many"
            assert (await ask(ws, {"do": "sub", "boxes": boxes[:2]}))["count"] == 2
            assert (await ask(ws, {"do": "sub", "boxes": boxes[2:]}))["code"] == "too_many"


async def test_http_says_what_is_wrong(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with unshaken(tmp_path, caplog) as served, served.client() as client:
        (box,) = await some_boxes(client, 1, quota=1)
        path = f"/v1/mailboxes/{box.box}/messages"
        asked = [
            ("POST", path, "wrong", b"x", "", 403),
            ("POST", "/v1/mailboxes/nobody/messages", box.sender_token, b"x", "", 403),
            ("POST", "/v1/mailboxes/%00/messages", box.sender_token, b"x", "", 403),
            ("POST", path, box.sender_token, b"\xff", "text/plain", 400),
            ("POST", path, box.sender_token, b"x" * 70_000, "", 413),
            ("POST", path, box.sender_token, b"x", "", 201),
            ("POST", path, box.sender_token, b"x", "", 429),
            ("GET", path + "?wait=x", box.recipient_token, b"", "", 400),
            ("GET", path, box.sender_token, b"", "", 403),
            ("DELETE", path + "/2", box.recipient_token, b"", "", 409),
            ("DELETE", path + "/x", box.recipient_token, b"", "", 400),
            ("DELETE", path + "/1", box.sender_token, b"", "", 403),
            ("DELETE", path + "/1", box.recipient_token, b"", "", 200),
            ("GET", path, box.recipient_token, b"", "", 204),
            ("PUT", path, box.recipient_token, b"", "", 404),
            ("GET", "/etc/passwd", "", b"", "", 404),
            ("GET", "/healthz", "", b"", "", 200),
        ]
        for method, where, token, body, kind, status in asked:
            found, content = await http(served, method, where, token, body, kind)
            assert found == status, (method, where, content)
            if status >= 400:
                assert content["type"].startswith("urn:postroad:problem:")
                assert content["status"] == status
                assert content["title"]
                assert content["detail"]


@pytest.mark.parametrize(
    "target", ["//[", "//[::1", "http://[/x", "/v1/mailboxes/%ff%fe/messages", "*"]
)
async def test_an_odd_address_is_answered_and_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, target: str
) -> None:
    async with unshaken(tmp_path, caplog) as served:
        status, _ = await http(served, "GET", target)
        assert status in (403, 404)


async def test_who_asks_by_http_and_never_reads_keeps_little_in_memory_and_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = HubLimits(stall_s=2.0)
    async with unshaken(tmp_path, caplog, limits) as served, served.client() as client:
        (box,) = await some_boxes(client, 1)
        await client.send(box.box, box.sender_token, "x" * 60_000)
        _, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1_024)
        head = f"GET /v1/mailboxes/{box.box}/messages HTTP/1.1\r\nhost: hub\r\n"
        asking = f"{head}authorization: Bearer {box.recipient_token}\r\n\r\n".encode()
        kept = 0
        async with asyncio.timeout(60):
            while not writer.is_closing():
                writer.write(asking)
                await asyncio.sleep(0.001)
                for each in served.server._due:
                    if isinstance(each, HttpProtocol) and each._transport is not None:
                        kept = max(kept, each._transport.get_write_buffer_size())
                assert kept < 1 << 20
        assert kept > 0


async def test_a_message_in_very_many_frames_is_put_together(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with unshaken(tmp_path, caplog) as served, dial(served) as ws:
        made = await ask(ws, {"do": "create", "token": CREATE})
        where = {"box": made["box"], "token": made["sender_token"]}
        frame = json.dumps({"do": "send", "n": 9, **where, "body": "y" * 30_000})
        await ws.send(iter(frame))
        assert (await hear(ws))["is"] == "ok"
        await ws.send(iter(["", "", "{", "", "}", ""]))
        assert (await hear(ws))["code"] == "malformed"
