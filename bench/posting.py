"""A client that posts over many connections, to a server in a process of its own."""

import asyncio
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import apsw
import uvloop

from bench.shape import Durability, RunFailed, Taken

ROOT = Path(__file__).parents[1]
BODY = b'{"queue": "no-op", "body": {"id": 7, "text": "a message of about a hundred bytes, as many are"}}'
PATIENCE_S = 60.0
Counts = Callable[[bytes], int]


def single(folder: Path, seconds: float, connections: int = 64, storing: int = 1) -> list[Taken]:
    """One message a request."""
    with Served(folder, storing=storing) as served:
        request = served.request("/v1/messages", BODY)
        answered, timed, took_s = uvloop.run(_post(served, request, connections, seconds, _one))
    name = "single" if storing else "not-storing"
    return [served.taken(name, answered, timed, took_s, storing=bool(storing))]


def batch(folder: Path, seconds: float, lines: int, connections: int) -> list[Taken]:
    """Many messages a request."""
    with Served(folder, storing=1) as served:
        request = served.request("/v1/messages:batch", (BODY + b"\n") * lines)
        answered, timed, took_s = uvloop.run(_post(served, request, connections, seconds, _lines))
    return [served.taken("batch", answered, timed, took_s, storing=True)]


def _one(_answer: bytes) -> int:
    return 1


def _lines(answer: bytes) -> int:
    return answer.count(b'"status":201')


class Served:
    """The server's process, while the block lasts."""

    def __init__(self, folder: Path, *, storing: int) -> None:
        self._path = folder / "road.db"
        self._process = subprocess.Popen(
            (sys.executable, "-m", "bench.ingest_server", str(self._path), str(storing)),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.host, self.port, self._token = "", 0, ""
        self._durability = Durability("", 0)
        self._cpu_s = 0.0

    def __enter__(self) -> Self:
        said = self._process.stdout.readline() if self._process.stdout else ""
        if not said:
            raise RunFailed("the server did not start")
        told = json.loads(said)
        self.host, _mark, port = told["url"].removeprefix("http://").rpartition(":")
        self.port, self._token = int(port), told["token"]
        return self

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        said = self._process.communicate(timeout=PATIENCE_S)[0]
        told = json.loads(said.splitlines()[-1])
        self._durability = Durability(told["journal_mode"], told["synchronous"])
        self._cpu_s = told["cpu_s"]

    def request(self, path: str, body: bytes) -> bytes:
        head = (
            f"POST {path} HTTP/1.1\r\nhost: {self.host}:{self.port}\r\n"
            f"authorization: Bearer {self._token}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def taken(self, name: str, answered: int, timed: int, took_s: float, *, storing: bool) -> Taken:
        stored = answered
        if storing:
            db = apsw.Connection(str(self._path))
            stored = int(db.execute("select count(*) from message").fetchall()[0][0])  # type: ignore[arg-type]
            db.close()
        return Taken(
            name=name,
            accepted=answered,
            recorded=stored,
            received=answered,
            timed=timed,
            seconds=took_s,
            cpu_s=self._cpu_s,
            durability=self._durability,
        )


async def _post(
    served: Served, request: bytes, connections: int, seconds: float, counts: Counts
) -> tuple[int, int, float]:
    """Every connection asks again as soon as it is answered: messages, those timed, seconds."""
    warm = await _ask(served, request, counts)
    start_s = time.perf_counter()
    until_s = start_s + seconds

    async def one() -> int:
        reader, writer = await asyncio.open_connection(served.host, served.port, limit=1 << 24)
        total = 0
        while time.perf_counter() < until_s:
            writer.write(request)
            total += counts(await _answer(reader))
        writer.close()
        return total

    timed = sum(await asyncio.gather(*[one() for _ in range(connections)]))
    return warm + timed, timed, time.perf_counter() - start_s


async def _ask(served: Served, request: bytes, counts: Counts) -> int:
    reader, writer = await asyncio.open_connection(served.host, served.port, limit=1 << 24)
    writer.write(request)
    answer = await _answer(reader)
    writer.close()
    return counts(answer)


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    if head[9:12] not in (b"200", b"201"):
        raise RunFailed(f"answered {head[:200]!r}")
    if b"content-length: " in head:
        return await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r")[0]))
    text = b""
    while True:  # chunks
        size = int((await reader.readuntil(b"\r\n")).strip(), 16)
        text += await reader.readexactly(size)
        await reader.readexactly(2)
        if size == 0:
            return text


def cpu_s() -> float:
    """Of this process, all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
