"""The API at a road's window: read with bounds, by whoever the kernel says, beside the host's own
work."""

import asyncio
import json
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad, Settings
from postroad.api import window as http
from postroad.stores.window_socket import Peer, connect
from postroad.verbs import window as verbs
from tests.servers.door import asked

WAIT_S = 60.0
ABOUT = b"GET /v1/about HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.fixture
def dsn(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/road.db"


def said(dsn: str, *pieces: bytes) -> bytes:
    """What is answered to these bytes, until the connection ends."""
    found = b""
    with connect(dsn, WAIT_S) as line, suppress(ConnectionError):
        for piece in pieces:
            line.sendall(piece)
        while data := line.recv(1 << 16):
            found += data
    return found


async def ask(dsn: str, *pieces: bytes) -> bytes:
    return await asyncio.to_thread(said, dsn, *pieces)


async def look(dsn: str, path: str = "/v1/about") -> Any:
    return await asyncio.to_thread(asked, dsn, "GET", path)


async def test_requests_are_answered_one_a_connection(dsn: str) -> None:
    async with Postroad(dsn):
        answer = await ask(dsn, ABOUT[:20], ABOUT[20:])
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\r\nconnection: close\r\n" in answer
        many = await asyncio.gather(*(look(dsn) for _ in range(3 * verbs.AT_ONCE)))
        assert len(many) == 3 * verbs.AT_ONCE  # those that are too many wait
        streamed = await ask(
            dsn,
            b"POST /v1/messages:batch HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n",
        )
        assert b"transfer-encoding: chunked" in streamed
        assert streamed.endswith(b"\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (b"hello\r\n\r\n", b"no HTTP/1.1 request"),
        (b"GET /v1/about HTTP/1.1\r\na: " + b"x" * (70 << 10) + b"\r\n\r\n", b"more than 65536"),
        (b"GET /v1/about HTTP/1.1\r\n" + b"a: b\r\n" * 101 + b"\r\n", b"at most 100 headers"),
        (b"GET http://a/v1/about HTTP/1.1\r\nhost: x\r\n\r\n", b"a path from / on"),
        (b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", b"Content-Length"),
        (b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", b"no HTTP/1.1"),
        (b"POST / HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n", b"no HTTP/1.1"),
        (b"GET /v1/about HTTP/1.1\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", b"no HTTP/1.1"),
    ],
)
async def test_what_is_no_request_is_refused_and_the_road_goes_on(
    dsn: str, request_: bytes, words: bytes
) -> None:
    async with Postroad(dsn):
        answer = await ask(dsn, request_)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert words in answer
        assert (await look(dsn))["delivers"] is False


async def test_a_body_that_is_too_large_is_not_read(dsn: str) -> None:
    settings = Settings(request_bytes_max=1_000)
    async with Postroad(dsn, settings=settings):
        head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000000\r\n\r\n"
        answer = await ask(dsn, head)
        assert answer.startswith(b"HTTP/1.1 413 ")


async def test_a_peer_that_is_too_slow_is_left(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Postroad(dsn):
        with monkeypatch.context() as patch:
            patch.setattr(http, "HEAD_S", 0.2)
            assert await ask(dsn, b"GET /v1/about HT") == b""
        monkeypatch.setattr(http, "STALL_S", 0.2)
        head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\n{"
        assert b"broke off before its end" in await ask(dsn, head)


async def test_an_answer_that_nobody_reads_is_not_kept(
    dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The export of many messages goes on only as far as it is read."""
    monkeypatch.setattr(http, "STALL_S", 0.3)
    async with Postroad(dsn) as road:
        road.handler("good")(lambda _: None)
        for _ in range(4):
            _ = await road.send_many([("good", "x" * 10_000)] * 500)
        body = b'{"everything": true}'
        head = b"POST /v1/privacy:export HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
        with connect(dsn, WAIT_S) as line:
            line.sendall(head % len(body) + body)
            line.settimeout(None)
            lines: tuple[Any, ...] = ()
            async with asyncio.timeout(WAIT_S):
                while not lines or lines[0].outcome == "asked":
                    lines = (await road.audit.list(tenant=None)).lines
                    await asyncio.sleep(0.05)
            assert lines[0].outcome == "cut"
            got = 0
            with line:
                line.settimeout(WAIT_S)
                try:
                    while data := line.recv(1 << 20):
                        got += len(data)
                except ConnectionError:
                    pass
        assert got < 10_000_000  # of 20 MB
        assert (await look(dsn))["delivers"] is False
    assert "request failed" not in caplog.text


async def test_whoever_the_kernel_says_is_another_user_is_not_answered(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Postroad(dsn):
        assert (await look(dsn))["version"]
        monkeypatch.setattr(verbs, "peer_of", lambda _line: Peer(1, 54_321))
        with pytest.raises((OSError, HTTPException)):
            _ = await look(dsn)


async def accepted(road: Postroad) -> None:
    """Somebody's look is under way."""
    async with asyncio.timeout(WAIT_S):
        while not road.window._answers:
            await asyncio.sleep(0.01)


async def test_a_road_that_closes_finishes_its_answers_and_takes_no_more(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verbs, "GRACE_S", WAIT_S)
    async with Postroad(dsn) as road:
        line = connect(dsn, WAIT_S)
        line.sendall(ABOUT[:-2])
        await accepted(road)
        closing = asyncio.ensure_future(road.window.close())
        await asyncio.sleep(0.05)
        line.sendall(ABOUT[-2:])
        await closing
        assert line.recv(12) == b"HTTP/1.1 200"
        line.close()
    monkeypatch.setattr(verbs, "GRACE_S", 0.05)
    async with Postroad(dsn) as road:
        dumb = connect(dsn, WAIT_S)
        await accepted(road)
    assert dumb.recv(1) == b""
    dumb.close()


HOST = """
import asyncio, json, sys, time
from postroad import Postroad

worst = {"loop_ms": 0.0, "process_ms": 0.0}

async def probe():
    own, all_ = time.thread_time(), time.process_time()
    while True:
        await asyncio.sleep(0.001)
        now, used = time.thread_time(), time.process_time()
        worst["loop_ms"] = max(worst["loop_ms"], (now - own) * 1000)
        worst["process_ms"] = max(worst["process_ms"], (used - all_) * 1000)
        own, all_ = now, used

def tell(what):
    web = ("postroad.api", "uvicorn", "h11", "picows", "jinja2")
    loaded = [name for name in web if name in sys.modules]
    print(json.dumps({"what": what, "web": loaded, **worst}), flush=True)

async def main():
    road = Postroad(sys.argv[1])
    @road.handler("good")
    async def good(message): ...
    async with road:
        await road.send_many([("good", n) for n in range(1_000)])
        if sys.argv[2] == "in the loop":
            road.window._loaded = lambda: asyncio.sleep(0, road.window._load())
        task = asyncio.ensure_future(probe())
        await asyncio.to_thread(compute, time.monotonic() + 1.0)
        for step in ("opened", "looked"):
            tell(step)
            worst.update(loop_ms=0.0, process_ms=0.0)
            await asyncio.to_thread(sys.stdin.readline)

def compute(until):
    while time.monotonic() < until:
        sum(range(100))

asyncio.run(main())
"""
LOOKS = ("/v1/queues", "/v1/messages?limit=1000", "/v1/stats", "/v1/levels", "/v1/workers",
         "/v1/rollups", "/v1/lanes", "/v1/dead", "/v1/audit", "/v1/openapi.json", "/docs")  # fmt: skip


def held_up(dsn: str, where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The longest that a thread that computes, and then looks, hold up a host's loop, by the
    processor's time: of the loop's thread, and of the whole process, whose other threads hold the
    interpreter's lock. The clock on the wall would count what else this machine does."""
    pipe, words = subprocess.PIPE, (sys.executable, "-c", HOST, dsn, where)
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        opened = json.loads(host.stdout.readline())
        assert opened["web"] == []  # opening a road loads nothing of it
        for path in LOOKS:
            assert said(dsn, f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        host.stdin.write("\n")
        host.stdin.flush()
        looked: dict[str, Any] = json.loads(host.stdout.readline())
        host.stdin.close()
    assert looked["web"] == ["postroad.api"]
    return opened, looked


def test_a_look_holds_up_the_hosts_loop_for_less_than_20_ms(tmp_path: Path) -> None:
    """On a busy machine the loop's thread waits its turn while others go on: no longer, then, than
    beside any thread that computes in Python."""
    told = []
    for number in range(4):
        busy, looked = held_up(f"sqlite:///{tmp_path}/{number}.db", "")
        if looked["loop_ms"] < 20.0 and looked["process_ms"] < max(20.0, busy["process_ms"]):
            return
        told.append((busy, looked))
    pytest.fail(str(told))


def test_loaded_in_the_loop_it_would_hold_it_up_for_longer(tmp_path: Path) -> None:
    assert held_up(f"sqlite:///{tmp_path}/road.db", "in the loop")[1]["loop_ms"] > 20.0
