"""Mails that a program has made itself: checked, completed, and otherwise left as they are."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.transports.smtp.headers import LINE_MAX, Mailbox, mailbox, unstructured
from postroad.transports.smtp.mime import crlf, date

FIELD: Final = re.compile(rb"([!-9;-~]{1,76})[ \t]{0,8}:")
HEADERS_MAX: Final = 500
ONCE: Final = (b"from", b"to", b"subject", b"date", b"message-id", b"sender", b"mime-version")
DROPPED: Final = frozenset((b"bcc", b"resent-bcc", b"return-path"))


class PreparedMail(Struct, frozen=True):
    """A whole mail: its headers by name, each with its line end, and what follows the empty
    line."""

    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def sender(self) -> Mailbox:
        """The address that it is from."""
        line = next(line for name, line in self.fields if name == b"from")
        text = line.partition(b":")[2].decode("utf-8", "replace").replace("\r\n", " ").strip()
        _, mark, address = text.rpartition("<")
        return mailbox(f"<{address}" if mark else text)

    def header(self, reference: str, now_s: int, more: Mapping[str, str]) -> bytes:
        """Return its headers, without those that tell other recipients, and with those that every
        mail needs and it does not have."""
        names = {name for name, _ in self.fields}
        kept = [line for name, line in self.fields if name not in DROPPED]
        made = {"Date": date(now_s), "Message-ID": f"<{reference}@{self.sender().domain}>", **more}
        for name, value in made.items():
            if name.lower().encode() not in names:
                kept.append(unstructured(name, value).encode())
        return b"".join(kept)


def read_prepared(data: bytes) -> PreparedMail:
    """Read a whole mail, each line ended by CR LF; BadInput says why it is none."""
    data = crlf(data)
    if b"\0" in data:
        raise BadInput("the mail has a zero byte in it: encode it")
    if max(map(len, data.split(b"\r\n"))) > LINE_MAX:
        raise BadInput(f"the mail has a line of more than {LINE_MAX} bytes: encode it")
    header, mark, body = data.partition(b"\r\n\r\n")
    if not mark:
        raise BadInput("the mail has no empty line between its headers and its text")
    fields = _fields(header)
    names = [name for name, _ in fields]
    if twice := [name for name in ONCE if names.count(name) > 1]:
        raise BadInput(f"the mail has the header {twice[0].decode()!r} twice")
    if b"from" not in names:
        raise BadInput("the mail has no header From")
    mail = PreparedMail(fields, body)
    _ = mail.sender()  # whether it can be read
    return mail


def _fields(header: bytes) -> tuple[tuple[bytes, bytes], ...]:
    groups: list[tuple[bytes, list[bytes]]] = []
    for line in header.split(b"\r\n"):
        if groups and line[:1] in (b" ", b"\t"):
            groups[-1][1].append(line)
            continue
        found = FIELD.match(line)
        if found is None:
            raise BadInput(f"{line[:60].decode('latin-1')!r} is no mail header")
        groups.append((found[1].lower(), [line]))
    if len(groups) > HEADERS_MAX:
        raise BadInput(f"the mail has {len(groups)} headers: at most {HEADERS_MAX}")
    return tuple((name, b"\r\n".join(lines) + b"\r\n") for name, lines in groups)
