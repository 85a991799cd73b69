"""The honest load: a message every few milliseconds over HTTP, each with its time of delivery half a
second ahead (decision 036), to a hundred endpoints in turn."""

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec

EVERY_MS: Final = 10
AHEAD_MS: Final = 500
LINES: Final = 16
ANSWER_S: Final = 60.0
PADDING: Final = "x" * 200


class Load:
    """Sends, and keeps a ledger of what was answered with 201."""

    def __init__(self, host: str, port: int, token: str, urls: list[str]) -> None:
        self._where = (host, port)
        self._token = token
        self._urls = urls
        self.accepted: set[int] = set()
        self.refused: list[str] = []
        self._count = 0

    async def part(self, seconds: float, lead_s: float) -> dict[int, int]:
        """So many seconds; when each is due (µs), without those of the beginning."""
        due_us: dict[int, int] = {}
        waiting: asyncio.Queue[tuple[int, int] | None] = asyncio.Queue()
        start_ms = time.time_ns() // 1_000_000 + AHEAD_MS
        async with asyncio.TaskGroup() as group:
            for _ in range(LINES):
                group.create_task(self._line(waiting))
            for at_ms in range(0, int(seconds * 1_000), EVERY_MS):
                await asyncio.sleep((start_ms + at_ms - AHEAD_MS) / 1_000 - time.time())
                number, self._count = self._count, self._count + 1
                waiting.put_nowait((number, start_ms + at_ms))
                if at_ms >= lead_s * 1_000:
                    due_us[number] = (start_ms + at_ms) * 1_000
            for _ in range(LINES):
                waiting.put_nowait(None)
        return due_us

    async def _line(self, waiting: "asyncio.Queue[tuple[int, int] | None]") -> None:
        """One connection, which is kept while the server keeps it."""
        reader = writer = None
        while (asked := await waiting.get()) is not None:
            try:
                if reader is None or writer is None or writer.is_closing():
                    reader, writer = await asyncio.open_connection(*self._where)
                async with asyncio.timeout(ANSWER_S):
                    writer.write(self._request(*asked))
                    status = await _status(reader)
                if status == 201:
                    self.accepted.add(asked[0])
                else:
                    self.refused.append(f"{asked[0]}: {status}")
            except (OSError, EOFError, TimeoutError) as error:
                self.refused.append(f"{asked[0]}: {error!r}")
                writer = None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _request(self, number: int, due_ms: int) -> bytes:
        due = datetime.fromtimestamp(due_ms / 1_000, UTC).isoformat()
        url = self._urls[number % len(self._urls)]
        body = {"n": number, "text": PADDING}
        data = msgspec.json.encode({"queue": url, "body": body, "deliver_at": due})
        head = (
            f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {self._token}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        )
        return head.encode() + data


async def _status(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    at = lower.find(b"content-length: ")
    length = int(lower[at + 16 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
    _ = await reader.readexactly(length)
    return int(head[9:12])
