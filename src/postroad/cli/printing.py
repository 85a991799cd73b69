"""What commands print: data on standard output, everything else on standard error. All of it goes
through here, so that no text of a stranger steers the terminal that it is shown on."""

import codecs
import os
import shutil
import sys
import traceback
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from types import TracebackType
from typing import Final, TextIO

import msgspec
from msgspec import Struct

from postroad.model.sentences import moment, span
from postroad.model.visible import one_line, visible, visible_json

STYLES: Final = {"": "", "bold": "1", "dim": "2", "bold red": "1;31"}
LEAST: Final = 8
"""A column of a table is not made narrower than this to fit the terminal."""


class Styled(Struct, frozen=True):
    """One line of texts, each with a style."""

    parts: tuple[tuple[str, str], ...]


class Terminal:
    """Writes lines to a stream, and shows control characters instead of sending them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()
        dumb = os.environ.get("TERM") == "dumb" or "NO_COLOR" in os.environ
        self._has_styles = self.is_terminal and not dumb

    def print(self, text: str | Styled, style: str = "") -> None:
        """Write one text, with a line end."""
        parts = text.parts if isinstance(text, Styled) else ((text, style),)
        self._stream.write("".join(self._part(*part) for part in parts) + "\n")
        self._stream.flush()

    def _part(self, text: str, style: str) -> str:
        code = STYLES[style] if self._has_styles else ""
        return f"\x1b[{code}m{visible(text)}\x1b[0m" if code else visible(text)

    def progress(self, text: str) -> None:
        """Show how far something is, in a line that the next one replaces; only on a terminal."""
        if self.is_terminal:
            self._stream.write(f"\r\x1b[K{one_line(text)}")
            self._stream.flush()

    def redraw(self, lines: Iterable[str]) -> None:
        """Replace all that is on the terminal."""
        self._stream.write("\x1b[H\x1b[2J" + "\n".join(visible(line) for line in lines) + "\n")
        self._stream.flush()


def out() -> Terminal:
    """For people, on standard output."""
    return Terminal(sys.stdout)


def err() -> Terminal:
    """For people, on standard error."""
    return Terminal(sys.stderr)


def as_json(data: object, *, error: bool = False) -> None:
    """For programs: one line of JSON."""
    stream = sys.stderr if error else sys.stdout
    stream.write(visible_json(msgspec.json.encode(data).decode()) + "\n")
    stream.flush()


def pieces(parts: Iterable[bytes]) -> None:
    """A file on standard output: byte by byte as it is, but on a terminal."""
    if not sys.stdout.isatty():
        for part in parts:
            sys.stdout.buffer.write(part)
        return
    reader = codecs.getincrementaldecoder("utf-8")("replace")
    for part in parts:
        sys.stdout.write(visible(reader.decode(part)))


def styled(*parts: str | tuple[str, str]) -> Styled:
    """One line of texts, some with a style of their own."""
    given = [(each, "") if isinstance(each, str) else each for each in parts]
    return Styled(tuple((one_line(text), style) for text, style in given))


def failed(text: str) -> None:
    """Why a command ends, in one line of its own."""
    err().print(styled(("postroad:", "bold red"), f" {text}"))


def crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
    """A fault of ours, which may have a stranger's text in it."""
    sys.stderr.write(visible("".join(traceback.format_exception(kind, error, trace))))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str = "") -> None:
    """A table for people; right-aligned where a column's name ends in #."""
    lines = grid(columns, rows)
    if len(lines) > 2 or not empty:
        for line in lines:
            out().print(line)
    else:
        err().print(empty)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Names and values, one a line."""
    for line in grid(("", ""), pairs)[2:]:
        out().print(line)


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table as wide as the terminal at most; what does not fit is folded."""
    names = [name.removesuffix("#") for name in columns]
    cells = [[visible(str(cell)) for cell in row] for row in rows]
    widths = [max(map(wide, column)) for column in zip(names, *cells, strict=True)]
    room = shutil.get_terminal_size().columns - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > LEAST:
        widest = widths.index(max(widths))
        widths[widest] -= min(sum(widths) - room, widths[widest] - LEAST)
    right = [name.endswith("#") for name in columns]
    lines = [_joined(names, widths, right), "─" * (sum(widths) + 2 * (len(widths) - 1))]
    for row in cells:
        folded = [_folded(cell, width) for cell, width in zip(row, widths, strict=True)]
        lines += [_joined(part, widths, right) for part in zip_longest(*folded, fillvalue="")]
    return lines


def _joined(parts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [
        " " * (width - wide(part)) + part if last else part + " " * (width - wide(part))
        for part, width, last in zip(parts, widths, right, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _folded(text: str, width: int) -> list[str]:
    """A text in pieces of at most so many places."""
    pieces = []
    for line in text.split("\n"):
        piece, places = "", 0
        for letter in line:
            if places + wide(letter) > width and piece:
                pieces.append(piece)
                piece, places = "", 0
            piece, places = piece + letter, places + wide(letter)
        pieces.append(piece)
    return pieces


def wide(text: str) -> int:
    """How many places a text takes on a terminal."""
    if text.isascii():
        return max(map(len, text.split("\n"))) if "\n" in text else len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def when(at_ms: int | None) -> str:
    """A time for people."""
    return moment(at_ms) if at_ms else "–"


def ago(at_ms: int | None, now_ms: int) -> str:
    """How long ago, for people."""
    return span(max(0, now_ms - at_ms)) if at_ms else "–"
