"""Every route, asked with what encodings, numbers and JSON can hold: for the quick test and for the
proof."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec import structs

from postroad.api.app import ROUTES
from postroad.api.routing import Route
from tests.api.served import Served

HOSTILE: tuple[bytes, ...] = (
    b"",
    b"\xff\xfe",
    b"null",
    b"[]",
    b"0",
    b'"\\ud800"',
    b"{" * 50_000,
    b"[" * 50_000,
    b'{"a":' * 2_000 + b"1" + b"}" * 2_000,
    b'{"queue": "good", "body": ' + b"[" * 2_000 + b"]" * 2_000 + b"}",
    b'{"queue": "good", "body": NaN}',
    b"1e999",
    b"9" * 5_000,
)
WORDS: tuple[bytes, ...] = (
    b'"a\\u0000b"',
    b'"\\ud800"',
    b'"\xed\xa0\x80"',
    b'"\xff"',
    b'"%s"' % (b"x" * 3_000),
    b'""',
    b"1e308",
    b"-1e308",
    b"99999999999999999999",
    b"9223372036854775807",
    b"1e-400",
    b"NaN",
    b"-0.0",
    b"true",
    b"null",
    b"[]",
    b"{}",
    b'["\\u0000"]',
    b'{"\\u0000": "\\u0000"}',
    b'"{{ 1/0 }}"',
    b'"{% for a in b %}"',
    b'"9999-12-31T23:59:59.999999+14:00"',
    b'"0001-01-01T00:00:00-14:00"',
    b'"https://a\\u0000b/"',
    b'"http://[::1"',
    b'"hub://\\u0000"',
)
PARTS = (
    "%00",
    "%FF",
    "%ED%A0%80",
    "%F0%9F%92%A9",
    "a%2Fb",
    "%25",
    "." * 3,
    "-1",
    "9" * 30,
    "x" * 3_000,
)


def fields(route: Route) -> list[str]:
    """The fields that a body may have."""
    kind = route.takes
    return [each.encode_name for each in structs.fields(kind)] if kind else []


def requests() -> Iterator[tuple[str, str, bytes]]:
    """What is asked: bad parts of paths, bad parameters, bad bodies, bad values of each field."""
    for route in ROUTES:
        method, template = route.method, route.path
        start = template.partition("{")[0]
        if "{" in template:
            rest = template.partition("}")[2].replace("{n}", "1")
            for part in PARTS:
                yield method, f"{start}{part}{rest}", b"{}"
        plain = (
            f"{start}1{template.partition('}')[2].replace('{n}', '1')}"
            if "{" in template
            else template
        )
        for name in ("request", *route.parameters):
            for value in (*PARTS, "nan", "1e999", ""):
                yield method, f"{plain}?{name}={value}", b"{}"
        yield method, f"{plain}?%00=%FF&=&&;", b"{}"
        if method == "POST":
            for body in HOSTILE:
                yield method, plain, body
            named = fields(route)
            for name in named:
                good = {
                    b"queue": b'"good"',
                    b"body": b"1",
                    b"name": b'"x"',
                    b"url": b'"https://e.com/"',
                }
                others = {
                    k: v for k, v in good.items() if k.decode() in named and k != name.encode()
                }
                for word in WORDS:
                    pairs = {**others, name.encode(): word}
                    yield (
                        method,
                        plain,
                        b"{" + b",".join(b'"%s":%s' % each for each in pairs.items()) + b"}",
                    )


async def faults(stand: Served, every: int) -> tuple[int, list[str]]:
    """Ask each `every`-th request; answers how many were asked, and which were answered with 5xx."""
    asked, broken, line = 0, [], await stand.line()
    for method, path, body in islice(requests(), 0, None, every):
        line.send(stand.head(method, path, f"Content-Length: {len(body)}") + body)
        head = (await line.reader.readuntil(b"\r\n\r\n")).lower()
        status, said = int(head.split()[1]), await rest(line, head)
        if status >= 500 and b"no-hub-here" not in said:
            broken.append(f"{status} {method} {path[:200]} {body[:200]!r}: {said[:200]!r}")
        asked += 1
        if b"connection: close" in head:
            line = await stand.line()
    return asked, broken


async def rest(line: Any, head: bytes) -> bytes:
    """What follows a head."""
    if b"content-length: " in head:
        size = int(head.partition(b"content-length: ")[2].split()[0])
        return await line.reader.readexactly(size)  # type: ignore[no-any-return]
    content = b""
    while b"chunked" in head and (size := int(await line.reader.readline(), 16)):
        content += await line.reader.readexactly(size + 2)
    if b"chunked" in head:
        await line.reader.readline()
    return content
