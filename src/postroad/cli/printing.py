"""What commands print: data on standard output, everything else on standard error. All of it goes
through here, so that no text of a stranger steers the terminal that it is shown on."""

import codecs
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
    """Shows control characters instead of sending them, and takes text as it is: markup only where
    a line of ours asks for it."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Before it is measured: what is shown takes room."""
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Whatever else comes: texts that something made by itself."""
        for part in super().render(renderable, options):
            yield part if part.control else Segment(visible(part.text), part.style)


def out() -> SafeConsole:
    """For people, on standard output."""
    return SafeConsole()


def err() -> SafeConsole:
    """For people, on standard error."""
    return SafeConsole(stderr=True)


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


def styled(*parts: str | tuple[str, str]) -> Text:
    """One line of texts, some with a style of their own."""
    given = [(each, "") if isinstance(each, str) else each for each in parts]
    return Text.assemble(*((one_line(text), style) for text, style in given))


def failed(text: str) -> None:
    """Why a command ends, in one line of its own."""
    err().print(styled(("postroad:", "bold red"), f" {text}"), soft_wrap=True)


def crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
    """A fault of ours, which may have a stranger's text in it."""
    sys.stderr.write(visible("".join(traceback.format_exception(kind, error, trace))))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str = "") -> None:
    """A table for people; right-aligned where a column's name ends in #."""
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
    """Names and values, one a line."""
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(name, str(value))
    out().print(grid)


def when(at_ms: int | None) -> str:
    """A time for people."""
    return moment(at_ms) if at_ms else "–"


def ago(at_ms: int | None, now_ms: int) -> str:
    """How long ago, for people."""
    return span(max(0, now_ms - at_ms)) if at_ms else "–"
