"""Forms with a file (RFC 7578): fields first, then one file that is passed on as it comes. No more
of it is in memory than the head of a part, the fields, and a piece."""

import re
from collections.abc import AsyncIterator
from typing import Final

from msgspec import Struct

from postroad.api.problems import BadRequest, UnsupportedMediaType

HEAD_BYTES_MAX: Final = 4 << 10
FIELD_BYTES_MAX: Final = 8 << 10
FIELDS_MAX: Final = 20
BEHIND_MAX: Final = 1 << 10
"""What may stand behind the last part; browsers send nothing there."""
END: Final = b"--"
LINE: Final = b"\r\n"
KIND: Final = re.compile(r'multipart/form-data; *boundary="?([!#-~]{1,70}?)"?', re.IGNORECASE)
NAMED: Final = re.compile(r';[ \t]*(name|filename)="([^"]*)"', re.IGNORECASE)
BROKEN: Final = "the form is broken: load the page again, and send it from there"


class FormFile(Struct, frozen=True):
    """A file as it comes: its name, which is a stranger's text, and its pieces."""

    name: str
    pieces: AsyncIterator[bytes]


class _PartHead(Struct, frozen=True):
    name: str = ""
    filename: str | None = None


class MultipartReader:
    """Reads the parts of a form one after the other. Pieces of any size give the same."""

    def __init__(self, content_type: str, pieces: AsyncIterator[bytes]) -> None:
        found = KIND.fullmatch(content_type.strip())
        if found is None:
            raise UnsupportedMediaType("a file is sent as multipart/form-data, with its boundary")
        self._delimiter = LINE + END + found[1].encode()
        self._pieces = pieces
        self._held = LINE  # the first delimiter has no line before it

    async def read(self) -> tuple[list[tuple[str, str]], FormFile]:
        """All fields, and the file behind them, which is yet to be read."""
        pairs: list[tuple[str, str]] = []
        await self._begin()
        while (head := await self._head()) is not None:
            if head.filename is not None:
                return pairs, FormFile(head.filename, self._file())
            if len(pairs) == FIELDS_MAX:
                raise BadRequest(f"a form with a file has at most {FIELDS_MAX} other fields")
            pairs.append((head.name, await self._field()))
        raise BadRequest("the form has no file: choose one")

    async def _file(self) -> AsyncIterator[bytes]:
        async for piece in self._part():
            yield piece
        if await self._head() is not None:
            raise BadRequest("a form has one file, behind its fields")
        behind = len(self._held) - len(END)
        while behind <= BEHIND_MAX:
            more = await anext(self._pieces, None)
            if more is None:
                return
            behind += len(more)
        raise BadRequest(BROKEN)

    async def _field(self) -> str:
        value = b""
        async for piece in self._part():
            value += piece
            if len(value) > FIELD_BYTES_MAX:
                raise BadRequest(f"a field beside a file has at most {FIELD_BYTES_MAX} bytes")
        return value.decode(errors="replace")

    async def _begin(self) -> None:
        while len(self._held) < len(self._delimiter):
            await self._more()
        if not self._held.startswith(self._delimiter):
            raise BadRequest(BROKEN)
        self._held = self._held[len(self._delimiter) :]

    async def _head(self) -> _PartHead | None:
        """The head of the next part; None at the end of the form."""
        while len(self._held) < len(END):
            await self._more()
        if self._held.startswith(END):
            return None
        while (at := self._held.find(LINE + LINE, 0, HEAD_BYTES_MAX)) < 0:
            if len(self._held) >= HEAD_BYTES_MAX:
                raise BadRequest(f"the head of a field has over {HEAD_BYTES_MAX} bytes")
            await self._more()
        text, self._held = self._held[:at].decode(errors="replace"), self._held[at + 4 :]
        if text and not text.startswith("\r\n"):
            raise BadRequest(BROKEN)
        given = {name.lower(): value for name, value in NAMED.findall(text)}
        return _PartHead(given.get("name", ""), given.get("filename"))

    async def _part(self) -> AsyncIterator[bytes]:
        """What stands before the next delimiter. As much is held back as could begin one."""
        most = len(self._delimiter) - 1
        while (at := self._held.find(self._delimiter)) < 0:
            ready, self._held = self._held[:-most], self._held[-most:]
            if ready:
                yield ready
            await self._more()
        ready, self._held = self._held[:at], self._held[at + len(self._delimiter) :]
        if ready:
            yield ready

    async def _more(self) -> None:
        piece = await anext(self._pieces, None)
        if piece is None:
            raise BadRequest(
                "the upload broke off before its end: nothing was stored; send it again"
            )
        self._held += piece
