"""A provider in Twilio's form, as a process of its own with a log of its own.

`python -m tests.campaigns.provider_process LOG LATENCY_MS SLOW_MS CALLBACKS`: prints its port. Every
50th answer takes SLOW_MS; with a LATENCY_MS below 0 nobody is told that a message was taken before the
test says so. Each arrival is a line of the log: when the kernel took its beginning (nanoseconds),
number, what was done with it. How it behaves is in the number:

  +1511… refuses it     +1512… throttles it the first two times      +1513… takes it and is silent
  +1514… takes it and hangs up       +1515… takes it and answers 500     others: takes it
  +1517… refuses it for a reason that may pass: the region is not enabled
  +1518… throttles it, for a minute

With CALLBACKS it reports each twice, late, and the last word first.
"""

import asyncio
import hashlib
import hmac
import json
import os
import socket
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.servers.stamps import receive, stamp_arrivals

ACCOUNT, TOKEN = "AC1", "a secret of the provider"


class Provider:
    def __init__(self, log: str, latency_ms: float, slow_ms: float, *, callbacks: bool) -> None:
        self.begin(log)
        self.latency_s = latency_ms / 1000
        self.slow_s = slow_ms / 1000
        self.callbacks = callbacks
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self, log: str) -> None:
        """Write into this log from now on, and remember nothing."""
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.released = Path(log).with_suffix(".released")
        self.taken: dict[str, list[dict[str, str]]] = {}
        self.throttled: dict[str, int] = {}
        self.count = 0

    def note(self, at_ns: int, number: str, what: str) -> None:
        os.write(self.log, f"{at_ns} {number} {what}\n".encode())

    def take(self, at_ns: int, form: dict[str, str]) -> str:
        self.count += 1
        sid = f"SM{os.getpid()}x{self.count}"
        message = {"sid": sid, "body": form["Body"], "to": form["To"], "status": "queued"}
        self.taken.setdefault(form["To"], []).append(message)
        self.note(at_ns, form["To"], "taken")
        if self.callbacks and form.get("StatusCallback"):
            self.later(self.report(form["StatusCallback"], sid, form["To"]))
        return sid

    def later(self, coroutine: "asyncio.coroutines.Coroutine[None, None, None]") -> None:  # type: ignore[name-defined]
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def report(self, url: str, sid: str, number: str) -> None:
        last = "undelivered" if number.startswith("+1516") else "delivered"
        for status in (last, "queued", "sent", last):
            await asyncio.sleep(0.05)
            form = {"MessageSid": sid, "MessageStatus": status, "To": number}
            if status == "undelivered":
                form["ErrorCode"] = "30003"
            await post(url, form)


def sign(url: str, form: dict[str, str]) -> str:
    text = url + "".join(key + form[key] for key in sorted(form))
    return b64encode(hmac.new(TOKEN.encode(), text.encode(), hashlib.sha1).digest()).decode()


async def post(url: str, form: dict[str, str]) -> None:
    from urllib.parse import urlencode

    parts = urlsplit(url)
    body = urlencode(form)
    head = (
        f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\nconnection: close\r\n"
        f"content-type: application/x-www-form-urlencoded\r\ncontent-length: {len(body)}\r\n"
        f"x-twilio-signature: {sign(url, form)}\r\n\r\n"
    )
    try:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write((head + body).encode())
        await reader.read()
        writer.close()
    except OSError:
        pass


class Door:
    """One connection; requests come one after the other, in pieces or not."""

    def __init__(self, provider: Provider, connection: socket.socket) -> None:
        self.provider = provider
        self.connection = connection
        self.buffer = b""
        self.began_ns = 0
        self.open = True
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asyncio.get_running_loop().add_reader(connection, self.read)

    def read(self) -> None:
        try:
            data, at_ns = receive(self.connection)
        except BlockingIOError:
            return
        except ConnectionError:  # its sender was killed
            data, at_ns = b"", 0
        if data:
            self.take(data, at_ns)
        else:
            self.close()

    def close(self) -> None:
        if self.open:
            self.open = False
            asyncio.get_running_loop().remove_reader(self.connection)
            self.connection.close()

    def take(self, data: bytes, at_ns: int) -> None:
        if not self.buffer:
            self.began_ns = at_ns
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, rest = self.buffer.partition(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)
            }
            size = int(headers.get("content-length", 0))
            if len(rest) < size:
                return
            self.buffer = rest[size:]
            method, path, _ = first.split(" ")
            self.serve(method, path, headers, rest[:size])
            self.began_ns = at_ns  # what is left, if any, came with the last piece

    def answer(self, status: int, body: object, **headers: str) -> None:
        text = json.dumps(body).encode()
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n{more}\r\n"
        data = head.encode() + text
        slow = self.provider.slow_s and self.provider.count % 50 == 0
        wait_s = self.provider.slow_s if slow else self.provider.latency_s
        if wait_s > 0:
            asyncio.get_running_loop().call_later(wait_s, self.write, data)
        elif wait_s < 0 and status == 201:
            self.provider.later(self.hold(data))
        else:
            self.write(data)

    async def hold(self, data: bytes) -> None:
        while not self.provider.released.exists():
            await asyncio.sleep(0.02)
        self.write(data)

    def write(self, data: bytes) -> None:
        if self.open:
            try:
                self.connection.sendall(data)  # so little that the kernel has room for it
            except ConnectionError:
                self.close()

    def serve(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        parts = urlsplit(path)
        login = b64decode(headers.get("authorization", "").removeprefix("Basic ")).decode()
        base = f"/2010-04-01/Accounts/{ACCOUNT}"
        if login != f"{ACCOUNT}:{TOKEN}" or not parts.path.startswith(base):
            self.answer(401, {"code": 20003, "message": "Authenticate", "status": 401})
        elif parts.path == f"{base}.json":
            self.answer(200, {"friendly_name": "Stand-in", "status": "active"})
        elif method == "GET":
            number = parse_qs(parts.query)["To"][0]
            self.answer(200, {"messages": self.provider.taken.get(number, [])})
        else:
            self.message(dict(parse_qsl(body.decode(), keep_blank_values=True)))

    def message(self, form: dict[str, str]) -> None:
        provider, number = self.provider, form["To"]
        kind = number[:5]
        if kind == "+1511":
            provider.note(self.began_ns, number, "refused")
            self.answer(400, {"code": 21211, "message": "The number is not valid", "status": 400})
        elif kind == "+1517":
            provider.note(self.began_ns, number, "refused")
            self.answer(400, {"code": 21408, "message": "Region not enabled", "status": 400})
        elif kind == "+1518":
            provider.note(self.began_ns, number, "throttled")
            self.answer(429, {"code": 20429, "message": "Too Many Requests"}, retry_after="60")
        elif kind == "+1512" and provider.throttled.get(number, 0) < 2:
            provider.throttled[number] = provider.throttled.get(number, 0) + 1
            provider.note(self.began_ns, number, "throttled")
            self.answer(429, {"code": 20429, "message": "Too Many Requests"}, retry_after="1")
        else:
            sid = provider.take(self.began_ns, form)
            if kind == "+1514":
                self.close()
            elif kind == "+1515":
                self.answer(500, {"code": 20500, "message": "Internal Server Error"})
            elif kind != "+1513":
                self.answer(201, {"sid": sid, "status": "queued", "num_segments": "1"})


async def main(log: str, latency_ms: str, slow_ms: str, callbacks: str) -> None:
    provider = Provider(log, float(latency_ms), float(slow_ms), callbacks=callbacks == "yes")
    server = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server.setblocking(False)
    stamp_arrivals(server)
    asyncio.get_running_loop().add_reader(server, lambda: Door(provider, server.accept()[0]))
    sys.stdout.write(f"{server.getsockname()[1]}\n")
    sys.stdout.flush()
    # Each line is the log of another test. Ends with the one who started it.
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        os.close(provider.log)
        provider.begin(line.strip())
        sys.stdout.write("begun\n")
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
