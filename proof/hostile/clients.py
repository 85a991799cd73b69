"""Clients of the API and of the hub that are hostile, each a function that does its worst until it is
stopped. They have no token, or one that may only send."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

import msgspec
from msgspec import Struct

SLOW_S: Final = 0.5
PIECE: Final = 256 << 10
ANSWER_S: Final = 20.0


class Target(Struct, frozen=True):
    """What is attacked, and how much of it."""

    host: str
    port: int
    tokens: tuple[str, str]
    """Of two other tenants, and only to send."""
    hub_port: int
    dead_port: int
    """Where connections are refused."""
    strangers: dict[str, int]
    scale: float = 1.0
    bounce_port: int = 0
    """Where bounces are listened for."""
    only: tuple[str, ...] = ()
    """These attacks alone, by name; none named is all."""
    cookie: str = ""
    """Of a person of the first tenant, who has a campaign `x`."""
    used_code: str = ""
    """Of a link to the portal that was opened."""

    @property
    def token(self) -> str:
        """The first one."""
        return self.tokens[0]

    def times(self, count: int) -> int:
        """So often at full size."""
        return max(1, round(count * self.scale))


@asynccontextmanager
async def dialled(
    target: Target, source: str, port: int = 0
) -> AsyncIterator[tuple[StreamReader, StreamWriter]]:
    """A connection from an address of one's own, so that nobody else pays for it."""
    where = port or target.port
    reader, writer = await asyncio.open_connection(target.host, where, local_addr=(source, 0))
    try:
        yield reader, writer
    finally:
        writer.close()


async def post(
    target: Target, source: str, path: str, body: bytes, headers: str = "", token: str = ""
) -> bytes:
    """One request, with whatever it is answered with."""
    async with dialled(target, source) as (reader, writer):
        auth = f"authorization: Bearer {token}\r\n" if token else ""
        auth += "connection: close\r\n"
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{auth}{headers}content-length: {len(body)}\r\n"
        writer.write(head.encode() + b"\r\n")
        for at in range(0, len(body), PIECE):
            writer.write(body[at : at + PIECE])
            await writer.drain()
        async with asyncio.timeout(ANSWER_S):
            said = b""
            while piece := await reader.read(
                PIECE
            ):  # to its end: a batch stops when nobody listens
                said = piece
            return said


async def slow_heads(target: Target) -> None:
    """Hundreds of requests that never end to begin."""

    async def one(number: int) -> None:
        async with dialled(target, f"127.0.9.{1 + number % 8}") as (_, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nx-slow: ")
            while not writer.is_closing():
                writer.write(b"y")
                await writer.drain()
                await asyncio.sleep(SLOW_S)

    await many(one, target.times(400))


async def slow_bodies(target: Target) -> None:
    """Bodies that are announced and do not come."""

    async def one(number: int) -> None:
        async with dialled(target, f"127.0.10.{1 + number % 8}") as (_, writer):
            writer.write(
                b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 900000\r\n\r\n"
            )
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(SLOW_S)

    await many(one, target.times(100))


async def forms_without_end(target: Target) -> None:
    """Callbacks that nobody signed: 31 MB of pairs."""
    form = b"a=b&" * target.times((31 << 20) // 4)
    for number in range(1, 3):
        kind = "content-type: application/x-www-form-urlencoded\r\n"
        _ = await heard(post(target, "127.0.11.1", f"/v1/callbacks/1/{number}", form, kind))


async def empty_lines(target: Target) -> None:
    """A batch of lines with nothing in them."""
    body = b"\n" * target.times(30 << 20)
    _ = await heard(post(target, "127.0.12.1", "/v1/messages:batch", body, token=target.token))


async def deep_bodies(target: Target) -> None:
    """JSON of brackets, as a request and as a line of a batch."""
    deep = b"[" * 500_000
    for path in ("/v1/messages", "/v1/messages:batch", "/v1/tokens"):
        _ = await heard(post(target, "127.0.13.1", path, deep, token=target.token))


async def two_ends(target: Target) -> None:
    """A request that ends in two places, with another one hidden behind the first end."""
    hidden = b"0\r\n\r\nPOST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\n\r\n"
    for _ in range(target.times(50)):
        more = "transfer-encoding: chunked\r\n"
        _ = await heard(post(target, "127.0.14.1", "/v1/messages", hidden, more, target.token))


async def wrong_tokens(target: Target) -> None:
    """Guessing, from one address after another."""
    for number in range(target.times(500)):
        source = f"127.0.15.{1 + number % 200}"
        _ = await heard(post(target, source, "/v1/messages", b"{}", token=f"prt_guess_{number}"))


async def noise(target: Target) -> None:
    """What is no HTTP, again and again."""
    for number in range(target.times(200)):
        with suppress(OSError, TimeoutError):
            async with (
                dialled(target, f"127.0.16.{1 + number % 8}") as (reader, writer),
                asyncio.timeout(ANSWER_S),
            ):
                writer.write(b"\x16\x03\x01" + bytes(range(256)) * 8 + b"\r\n\r\n")
                _ = await reader.read(4_096)


async def long_texts(target: Target) -> None:
    """Texts of every field, each as long as a request may be."""
    long = "1/s," * target.times(100_000)
    for field in ("queue", "key", "order_key", "deliver_at", "priority"):
        body = msgspec.json.encode({"queue": "https://x.example/", "body": 1} | {field: long})
        _ = await heard(post(target, "127.0.17.1", "/v1/messages", body, token=target.token))
    _ = await heard(post(target, "127.0.17.1", "/v1/queues:limit",
        msgspec.json.encode({"queue": "https://x.example/", "rate": long}), token=target.token,
    ))  # fmt: skip


async def wrong_hub_tokens(target: Target) -> None:
    """Guessing at the hub."""
    for number in range(target.times(300)):
        with suppress(OSError, TimeoutError):
            source = f"127.0.18.{1 + number % 200}"
            async with (
                dialled(target, source, target.hub_port) as (reader, writer),
                asyncio.timeout(ANSWER_S),
            ):
                auth = b"authorization: Bearer %d\r\n" % number
                writer.write(b"POST /m/x HTTP/1.1\r\nhost: 127.0.0.1\r\n" + auth)
                writer.write(b"content-length: 2\r\n\r\n{}")
                _ = await reader.read(4_096)


async def slow_hub_heads(target: Target) -> None:
    """The same at the hub as at the API."""

    async def one(number: int) -> None:
        source = f"127.0.19.{1 + number % 8}"
        async with dialled(target, source, target.hub_port) as (_, writer):
            writer.write(b"GET / HTTP/1.1\r\nupgrade: websocket\r\nx-slow: ")
            while not writer.is_closing():
                writer.write(b"y")
                await writer.drain()
                await asyncio.sleep(SLOW_S)

    await many(one, target.times(100))


async def dead_lanes(target: Target) -> None:
    """A tenant with one message each for thousands of servers that refuse."""
    urls = (
        f"http://127.{100 + n // 62_500}.{n // 250 % 250}.{1 + n % 250}:{target.dead_port}/"
        for n in range(target.times(6_000))
    )
    await _send(target, list(urls), target.tokens[1])


async def hostile_receivers(target: Target) -> None:
    """Messages for all who answer badly, several for each."""
    mine = {name: port for name, port in target.strangers.items() if name != "provider"}
    urls = [
        f"http://127.0.{50 + turn}.{n}:{port}/"
        for turn in range(target.times(4))
        for n, port in enumerate(mine.values(), 1)
    ]
    await _send(target, urls, target.token)
    # Those that settings name, and others that they do not.
    hubs = [f"hub://127.0.0.1:{port}/box" for port in mine.values()]
    await _send(target, hubs, target.token)


async def _send(target: Target, queues: list[str], token: str) -> None:
    for at in range(0, len(queues), 500):
        lines = b"".join(
            msgspec.json.encode({"queue": queue, "body": {"n": 0, "bad": True}}) + b"\n"
            for queue in queues[at : at + 500]
        )
        _ = await heard(post(target, "127.0.20.1", "/v1/messages:batch", lines, token=token))


async def many(one: Callable[[int], Awaitable[None]], count: int) -> None:
    """So many of them at once."""

    async def quietly(number: int) -> None:
        with suppress(OSError):
            await one(number)

    await asyncio.gather(*map(quietly, range(count)))


async def heard(asked: Awaitable[bytes]) -> bytes:
    """The answer; nothing when the road hung up or took too long."""
    try:
        return await asked
    except (OSError, TimeoutError):
        return b""


class Attack(Protocol):
    """A function with a name."""

    __name__: str

    def __call__(self, target: Target, /) -> Awaitable[None]:
        """Do one's worst."""


ATTACKS: Final[tuple[Attack, ...]] = (
    hostile_receivers,
    dead_lanes,
    slow_heads,
    slow_bodies,
    forms_without_end,
    empty_lines,
    deep_bodies,
    two_ends,
    wrong_tokens,
    noise,
    long_texts,
    wrong_hub_tokens,
    slow_hub_heads,
)
ENDLESS: Final[tuple[Attack, ...]] = (slow_heads, slow_bodies, slow_hub_heads)
"""These go on as long as they are let."""
