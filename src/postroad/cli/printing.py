"""What commands print: data on standard output, everything else on standard error. Everything goes
through here, so that no foreign text can control the terminal."""

import codecs
import os
import shlex
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

from postroad.model.terminal_text import escaped, escaped_json, escaped_line
from postroad.model.wording import duration_text, moment

STYLES: Final = {"": "", "bold": "1", "dim": "2", "bold red": "1;31"}
LEAST: Final = 8
"""A column of a table is not made narrower than this to fit the terminal."""


class Styled(Struct, frozen=True):
    """One line of texts, each with a style."""

    parts: tuple[tuple[str, str], ...]


class SafeConsole:
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
        return f"\x1b[{code}m{escaped(text)}\x1b[0m" if code else escaped(text)

    def progress(self, text: str) -> None:
        """Show how far something is, in a line that the next one replaces; only on a terminal."""
        if self.is_terminal:
            self._stream.write(f"\r\x1b[K{escaped_line(text)}")
            self._stream.flush()

    def redraw(self, lines: Iterable[str]) -> None:
        """Replace all that is on the terminal."""
        self._stream.write("\x1b[H\x1b[2J" + "\n".join(escaped(line) for line in lines) + "\n")
        self._stream.flush()


def out() -> SafeConsole:
    """A console on standard output, for people."""
    return SafeConsole(sys.stdout)


def err() -> SafeConsole:
    """A console on standard error, for people."""
    return SafeConsole(sys.stderr)


def as_json(data: object, *, error: bool = False) -> None:
    """Print one line of JSON, for programs."""
    stream = sys.stderr if error else sys.stdout
    stream.write(escaped_json(msgspec.json.encode(data).decode()) + "\n")
    stream.flush()


def pieces(parts: Iterable[bytes]) -> None:
    """Write a file to standard output: its bytes unchanged, or safe text on a terminal."""
    if not sys.stdout.isatty():
        for part in parts:
            sys.stdout.buffer.write(part)
        return
    reader = codecs.getincrementaldecoder("utf-8")("replace")
    for part in parts:
        sys.stdout.write(escaped(reader.decode(part)))


def styled(*parts: str | tuple[str, str]) -> Styled:
    """Join texts in one line; a pair is a text and its style."""
    given = [(each, "") if isinstance(each, str) else each for each in parts]
    return Styled(tuple((escaped_line(text), style) for text, style in given))


def failed(text: str) -> None:
    """Print why a command fails, in one line."""
    err().print(styled(("postroad:", "bold red"), f" {text}"))


def crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
    """Print a traceback safely: it may contain foreign text."""
    sys.stderr.write(escaped("".join(traceback.format_exception(kind, error, trace))))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str = "") -> None:
    """Print a table; columns whose name ends in # are right-aligned. `empty` is for no rows."""
    lines = grid(columns, rows)
    if len(lines) > 2 or not empty:
        for line in lines:
            out().print(line)
    else:
        err().print(empty)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one pair a line."""
    for line in grid(("", ""), pairs)[2:]:
        out().print(line)


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table as wide as the terminal at most; what does not fit is folded."""
    names = [name.removesuffix("#") for name in columns]
    cells = [[escaped(str(cell)) for cell in row] for row in rows]
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


def more(after: str) -> None:
    """Say how to see the next page, if there is one."""
    if after:
        out().print(f"more: --after {shlex.quote(after)}")


def when(at_ms: int | None) -> str:
    """A time as people read it."""
    return moment(at_ms) if at_ms else "–"


def ago(at_ms: int | None, now_ms: int) -> str:
    """How long ago, as people read it."""
    return duration_text(max(0, now_ms - at_ms)) if at_ms else "–"
