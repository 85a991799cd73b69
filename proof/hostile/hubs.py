"""Hubs that are no hubs: they lead elsewhere, or pour out frames."""

from asyncio import StreamWriter
from base64 import b64encode
from hashlib import sha1
from typing import Final

from proof.hostile.receivers import Hostility, flood

GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


async def leads_elsewhere(line: StreamWriter) -> None:
    """A redirect that a client might follow with its token."""
    line.write(b"HTTP/1.1 302 No\r\nlocation: ws://127.0.0.1:22/\r\ncontent-length: 0\r\n\r\n")


async def never_upgrades(line: StreamWriter) -> None:
    """A head without end."""
    line.write(b"HTTP/1.1 101 Yes\r\n")
    await flood(line, b"x: y\r\n" * 10_000)


async def pours_out_frames(line: StreamWriter, key: bytes = b"") -> None:
    """Messages that nobody asked for, as fast as the line takes them."""
    accept = b64encode(sha1(key + GUID, usedforsecurity=False).digest())
    line.write(
        b"HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-accept: " + accept + b"\r\n\r\n"
    )
    frame = b'{"t":"message","box":"x","body":"' + b"y" * 80 + b'"}'
    await flood(line, (b"\x81" + bytes([len(frame)]) + frame) * 400)


async def claims_a_huge_frame(line: StreamWriter, key: bytes = b"") -> None:
    """A frame of an exabyte."""
    accept = b64encode(sha1(key + GUID, usedforsecurity=False).digest())
    line.write(
        b"HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-accept: " + accept + b"\r\n\r\n\x82\x7f\x0f" + b"\xff" * 7
    )
    await flood(line, b"z" * 65_536)


HUBS: Final[tuple[Hostility, ...]] = (leads_elsewhere, never_upgrades)
KEYED: Final = (pours_out_frames, claims_a_huge_frame)
FLOODS: Final = ("never_upgrades", "pours_out_frames", "claims_a_huge_frame")
