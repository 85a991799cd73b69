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
from types import TracebackType
from typing import Final, TextIO

import msgspec
from msgspec import Struct

from postroad.model.terminal_text import escaped, escaped_json, escaped_line
from postroad.model.wording import duration_text, moment

STYLES: Final = {"": "", "bold": "1", "dim": "2", "bold red": "1;31"}
CUTS: Final = (("~", 24), ("~", 8), ("~~", 24), ("~~", 8))
"""What gives way to fit the terminal, one after the other: columns by the end of their names, and
how narrow they are made."""
GAP: Final = 2
LINE_END: Final = "\n"


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


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    empty: str = "",
    *,
    plain: bool = False,
) -> None:
    """Print a table, as `grid` makes it; `empty` is for no rows. With `plain` a line is a row, its
    cells are separated by tabs, and there is no head."""
    found = list(rows)
    if not found and empty:
        err().print(empty)
        return
    for line in plain_lines(found) if plain else grid(columns, found):
        out().print(line)


def facts(pairs: Iterable[tuple[str, object]], *, plain: bool = False) -> None:
    """Print names and values, one pair a line. No value is cut."""
    found = list(pairs)
    width = max((wide(name) for name, _ in found), default=0)
    margin = "\n" + " " * (width + 2)
    lines = (
        f"{name}{' ' * (width - wide(name))}  {escaped(str(value)).replace(LINE_END, margin)}"
        for name, value in found
    )
    for line in plain_lines(found) if plain else lines:
        out().print(line.rstrip())


def plain_lines(rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows for `cut` and `while read`: cells separated by tabs, none of which holds a tab."""
    return ["\t".join(escaped_line(str(cell)) for cell in row) for row in rows]


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table, one for each row. A column whose name ends in # is right-aligned. One
    whose name ends in ~ is cut with … where the terminal is too narrow, the last one first, and one
    with ~~ (an address) when nothing else is left to cut. Others never are, and nothing is when the
    output is no terminal."""
    names = [name.rstrip("#~") for name in columns]
    cells = [[escaped_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(wide, column)) for column in zip(names, *cells, strict=True)]
    if sys.stdout.isatty():
        _narrow(widths, columns, shutil.get_terminal_size().columns - GAP * (len(widths) - 1))
    right = [name.endswith("#") for name in columns]
    lines = [_joined(names, widths, right), "─" * (sum(widths) + GAP * (len(widths) - 1))]
    return lines + [_joined(row, widths, right) for row in cells]


def _narrow(widths: list[int], columns: Sequence[str], room: int) -> None:
    for end, least in CUTS:
        for at, name in reversed(list(enumerate(columns))):
            if name.removeprefix(name.rstrip("~")) == end:
                keep = max(least, wide(name.rstrip("~")))
                widths[at] -= max(0, min(sum(widths) - room, widths[at] - keep))


def _joined(parts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for part, width, last in zip(parts, widths, right, strict=True):
        text = cut(part, width)
        space = " " * (width - wide(text))
        padded.append(space + text if last else text + space)
    return (" " * GAP).join(padded).rstrip()


def cut(text: str, width: int) -> str:
    """The beginning of a text that fits, with … in place of the rest."""
    if wide(text) <= width:
        return text
    places, kept = 0, []
    for letter in text:
        places += wide(letter)
        if places >= width:
            break
        kept.append(letter)
    return "".join(kept) + "…"


def wide(text: str) -> int:
    """How many places a text takes on a terminal."""
    if text.isascii():
        return max(map(len, text.split("\n"))) if "\n" in text else len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def more(after: str) -> None:
    """Say how to see the next page, if there is one: on standard error, since it is no row."""
    if after:
        err().print(f"more: --after {shlex.quote(after)}")


def when(at_ms: int | None) -> str:
    """A time as people read it."""
    return moment(at_ms) if at_ms else "–"


def status_text(status: int) -> str:
    """A status as people read it: a try that was not answered has none."""
    return str(status) if status else "–"


def ago(at_ms: int | None, now_ms: int) -> str:
    """How long ago, as people read it."""
    return duration_text(max(0, now_ms - at_ms)) if at_ms else "–"
