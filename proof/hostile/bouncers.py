"""Hostile clients of what comes back: the listener for bounces, the unsubscribe page and the
reports. They know the address for complaints, which everybody may know."""

import asyncio
from contextlib import suppress
from typing import Final

from proof.hostile.clients import ANSWER_S, SLOW_S, Attack, Target, dialled, heard, many, post

DOMAIN: Final = "bounces.example.com"
OPENING: Final = f"EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<feedback@{DOMAIN}>\r\nDATA\r\n".encode()


async def slow_bounces(target: Target) -> None:
    """Hundreds of sessions with one letter at a time."""

    async def one(number: int) -> None:
        source = f"127.0.21.{1 + number % 8}"
        async with dialled(target, source, target.bounce_port) as (_, writer):
            writer.write(b"EHLO ")
            while not writer.is_closing():
                writer.write(b"y")
                await writer.drain()
                await asyncio.sleep(SLOW_S)

    await many(one, target.times(300))


async def mails_for_others(target: Target) -> None:
    """Mail for everybody but us, by thousands of commands at once."""
    asked = b"EHLO x\r\n" + b"MAIL FROM:<>\r\nRCPT TO:<b-aaaa@x>\r\nRSET\r\n" * 3_000
    for _ in range(target.times(100)):
        await _said(target, asked)


async def complaints_without_end(target: Target) -> None:
    """Mails that do not end, end twice, or hide another one behind a bare line end."""
    parts = b"Content-Type: multipart/report; boundary=x\r\n\r\n" + b"--x\r\n\r\n" * 30_000
    floods = (
        b"x" * (1 << 20),
        parts + b".\r\n",
        b"a: b\r\n" * 60_000 + b".\r\n",
        b"x\n.\nMAIL FROM:<>\r\n",
        b"\r\n.\r\n" * 10_000,
    )
    for number in range(target.times(60)):
        await _said(target, OPENING + floods[number % len(floods)])


async def forged_links(target: Target) -> None:
    """Unsubscribe links and reports of callbacks that nobody signed."""
    for number in range(target.times(200)):
        form = b"List-Unsubscribe=One-Click"
        path = f"/unsubscribe?t={'A' * 100}{number}"
        _ = await heard(post(target, "127.0.22.1", path, form))
        call = b'{"signature":{"timestamp":"1","token":"x","signature":"' + b"x" * 50_000 + b'"}}'
        _ = await heard(post(target, "127.0.22.3", "/v1/callbacks/default/smtp", call))
        report = b"Content-Type: multipart/report; boundary=x\r\n\r\n" + b"--x\r\n" * 10_000
        where = "/v1/suppressions:report"
        _ = await heard(post(target, "127.0.22.2", where, report, token=target.token))


async def _said(target: Target, data: bytes) -> None:
    """Say all of it, and hear what comes back to its end."""
    with suppress(OSError, TimeoutError):
        async with (
            dialled(target, "127.0.21.9", target.bounce_port) as (reader, writer),
            asyncio.timeout(ANSWER_S),
        ):
            writer.write(data)
            writer.write_eof()
            while await reader.read(65_536):
                pass


BOUNCERS: Final[tuple[Attack, ...]] = (
    slow_bounces,
    mails_for_others,
    complaints_without_end,
    forged_links,
)
ENDLESS: Final[tuple[Attack, ...]] = (slow_bounces,)
"""These go on as long as they are let."""
