"""Mail headers: texts as they stand in a header, and what must not stand in one."""

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.model.mail_address import normal_mail

LINE_MAX: Final = 998
"""Characters of a line, RFC 5322, 2.1.1."""
FOLD_AT: Final = 76
WORD_BYTES: Final = 42
"""Maximum bytes of an encoded word: with its frame and as base64 it has 68 characters, and 75 are
allowed."""
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,75}")
CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
ENCODED_WORD: Final = re.compile(r"=\?[^?\s]{1,80}\?[bBqQ]\?")
PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]+")
ADDRESSES: Final = frozenset(("reply-to",))
OURS: Final = frozenset(
    (
        *("from", "to", "cc", "bcc", "sender", "subject", "date", "message-id", "mime-version"),
        *("return-path", "received", "dkim-signature"),
        *("resent-from", "resent-to", "resent-cc", "resent-bcc"),
    )
)
"""Headers that are made, or given in the body beside `headers`."""


class Mailbox(Struct, frozen=True):
    """An address with the name that is shown beside it."""

    name: str
    address: str

    @property
    def domain(self) -> str:
        """The part behind the @."""
        return self.address.rpartition("@")[2]

    @property
    def header(self) -> str:
        """As it stands in a header."""
        if not self.name:
            return self.address
        if PLAIN_NAME.fullmatch(self.name) and not ENCODED_WORD.search(self.name):
            return f"{self.name} <{self.address}>"
        if self.name.isascii() and not ENCODED_WORD.search(self.name):
            quoted = self.name.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{quoted}" <{self.address}>'
        return f"{encoded_words(self.name)} <{self.address}>"


def check_text(what: str, text: str) -> str:
    """Return a header's text; BadInput when it would end the header, or be read as another text
    than it is."""
    if CONTROL.search(text):
        raise BadInput(f"{what} has a line end or a control character in it: remove it")
    if ENCODED_WORD.search(text):
        raise BadInput(f"{what} has an encoded word (=?…?=) in it: give the text itself")
    if len(text) > LINE_MAX:
        raise BadInput(f"{what} has {len(text)} characters: at most {LINE_MAX}")
    return text


def check_headers(headers: Mapping[str, str]) -> None:
    """Check a sender's own headers; BadInput says what is wrong with which."""
    seen: set[str] = set()
    for name, value in headers.items():
        lower = name.lower()
        if not NAME.fullmatch(name):
            raise BadInput(f"header {name[:80]!r} is no name of a mail header")
        if lower in OURS or lower.startswith("content-"):
            raise BadInput(f"header {name!r} is made by Postroad, or has a field of its own")
        if lower in seen:
            raise BadInput(f"header {name!r} is there twice")
        seen.add(lower)
        _ = check_text(f"header {name!r}", value)  # whether it can be sent


def unstructured(name: str, text: str) -> str:
    """Write a header of free text, folded, in encoded words where it is not ASCII."""
    if not text.isascii() or ENCODED_WORD.search(text):
        return f"{name}: {encoded_words(text)}\r\n"
    return fold(f"{name}: {text}")


def fold(header: str) -> str:
    """Break a long header at its blanks."""
    if len(header) <= FOLD_AT + 2:
        return f"{header}\r\n"
    lines, line = [], ""
    for word in header.split(" "):
        longer = f"{line} {word}" if line else word
        if line.strip() and len(longer) > FOLD_AT and word:
            lines.append(line)
            line = f" {word}"
        else:
            line = longer
    return "\r\n".join((*lines, line)) + "\r\n"


def encoded_words(text: str) -> str:
    """Write a text in encoded words of RFC 2047, no character in two of them."""
    words, word = [], b""
    for character in text:
        encoded = character.encode()
        if len(word) + len(encoded) > WORD_BYTES:
            words.append(word)
            word = b""
        word += encoded
    return "\r\n ".join(f"=?utf-8?b?{b64encode(one).decode()}?=" for one in (*words, word))


@lru_cache(512)
def mailbox(text: str) -> Mailbox:
    """Read `ann@example.com` or `Ann Lee <ann@example.com>`; BadInput says what is wrong."""
    text = check_text("the address", text.strip())
    name, mark, rest = text.rpartition("<")
    if not mark:
        return Mailbox("", normal_mail(text))
    name = name.strip()
    if not rest.endswith(">"):
        raise BadInput(f"{text[:200]!r} is no address: write Ann Lee <ann@example.com>")
    if len(name) >= 2 and name[0] == name[-1] == '"':
        name = name[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    elif any(sign in name for sign in '"<>()@,;:\\'):
        raise BadInput(f'{text[:200]!r}: put the name in quotes: "Lee, Ann" <ann@example.com>')
    return Mailbox(name, normal_mail(rest[:-1]))
