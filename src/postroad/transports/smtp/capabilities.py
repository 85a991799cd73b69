"""What a server offers, by its reply to EHLO."""

import re
from typing import Final

from msgspec import Struct

from postroad.transports.smtp.replies import SmtpReply

WORD: Final = re.compile(rb"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
SIZE_DIGITS_MAX: Final = 18
WORDS_MAX: Final = 32


class Capabilities(Struct, frozen=True):
    """What a server offers. `size`: how large a mail may be; 0 is unknown."""

    pipelining: bool = False
    starttls: bool = False
    utf8: bool = False
    dsn: bool = False
    """Reports name the mail and the recipient as we do."""
    eight_bit: bool = False
    size: int = 0
    auth: frozenset[str] = frozenset()


NONE: Final = Capabilities()


def read_capabilities(reply: SmtpReply) -> Capabilities:
    """Read the lines after the first, which greets. What is not understood is not offered."""
    offered: dict[str, list[str]] = {}
    for line in reply.lines[1:]:
        words = line.replace(b"=", b" ").split(maxsplit=WORDS_MAX)[:WORDS_MAX]
        if words and all(WORD.fullmatch(word) for word in words):
            name, *rest = (word.decode("ascii").upper() for word in words)
            offered.setdefault(name, rest)
    size = offered.get("SIZE", [""])[:1]
    return Capabilities(
        pipelining="PIPELINING" in offered,
        starttls="STARTTLS" in offered,
        utf8="SMTPUTF8" in offered,
        dsn="DSN" in offered,
        eight_bit="8BITMIME" in offered,
        size=_number(size[0]) if size else 0,
        auth=frozenset(offered.get("AUTH", ())),
    )


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= SIZE_DIGITS_MAX else 0
