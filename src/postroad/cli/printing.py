"""What commands print: data on standard output, everything else on standard error. Everything goes
through here, so that no foreign text can control the terminal."""

import codecs
import shlex
import sys
import traceback
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

import msgspec
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from postroad.model.sentences import moment, span
from postroad.model.visible import one_line, visible, visible_json


class SafeConsole(Console):
    """A console that shows control characters instead of sending them, and reads no markup in
    text."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make text safe before its width is measured."""
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Make safe what other renderables produce."""
        for part in super().render(renderable, options):
            yield part if part.control else Segment(visible(part.text), part.style)


def out() -> SafeConsole:
    """A console on standard output, for people."""
    return SafeConsole()


def err() -> SafeConsole:
    """A console on standard error, for people."""
    return SafeConsole(stderr=True)


def as_json(data: object, *, error: bool = False) -> None:
    """Print one line of JSON, for programs."""
    stream = sys.stderr if error else sys.stdout
    stream.write(visible_json(msgspec.json.encode(data).decode()) + "\n")
    stream.flush()


def pieces(parts: Iterable[bytes]) -> None:
    """Write a file to standard output: its bytes unchanged, or safe text on a terminal."""
    if not sys.stdout.isatty():
        for part in parts:
            sys.stdout.buffer.write(part)
        return
    reader = codecs.getincrementaldecoder("utf-8")("replace")
    for part in parts:
        sys.stdout.write(visible(reader.decode(part)))


def styled(*parts: str | tuple[str, str]) -> Text:
    """Join texts in one line; a pair is a text and its style."""
    given = [(each, "") if isinstance(each, str) else each for each in parts]
    return Text.assemble(*((one_line(text), style) for text, style in given))


def failed(text: str) -> None:
    """Print why a command fails, in one line."""
    err().print(styled(("postroad:", "bold red"), f" {text}"), soft_wrap=True)


def crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
    """Print a traceback safely: it may contain foreign text."""
    sys.stderr.write(visible("".join(traceback.format_exception(kind, error, trace))))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str = "") -> None:
    """Print a table; columns whose name ends in # are right-aligned. `empty` is for no rows."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        justify: Any = "right" if name.endswith("#") else "left"
        grid.add_column(name.removesuffix("#"), justify=justify, overflow="fold")
    count = 0
    for row in rows:
        grid.add_row(*[str(cell) for cell in row])
        count += 1
    if count or not empty:
        out().print(grid)
    else:
        err().print(empty)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one pair a line."""
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(name, str(value))
    out().print(grid)


def more(after: str) -> None:
    """Say how to see the next page, if there is one."""
    if after:
        out().print(f"more: --after {shlex.quote(after)}", soft_wrap=True)


def when(at_ms: int | None) -> str:
    """A time as people read it."""
    return moment(at_ms) if at_ms else "–"


def ago(at_ms: int | None, now_ms: int) -> str:
    """How long ago, as people read it."""
    return span(max(0, now_ms - at_ms)) if at_ms else "–"
