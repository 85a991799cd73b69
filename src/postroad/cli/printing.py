"""What commands print: data on standard output, everything else on standard error."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from postroad.model.telling import moment, span


def out() -> Console:
    """For people, on standard output."""
    return Console(highlight=False)


def err() -> Console:
    """For people, on standard error."""
    return Console(stderr=True, highlight=False)


def as_json(data: object) -> None:
    """For programs: one line of JSON."""
    sys.stdout.write(msgspec.json.encode(data).decode() + "\n")
    sys.stdout.flush()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str = "") -> None:
    """A table for people; right-aligned where a column's name ends in #."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        justify: Any = "right" if name.endswith("#") else "left"
        grid.add_column(name.removesuffix("#"), justify=justify, overflow="fold")
    count = 0
    for row in rows:
        grid.add_row(*[escape(str(cell)) for cell in row])
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
        grid.add_row(name, escape(str(value)))
    out().print(grid)


def when(at_ms: int | None) -> str:
    """A time for people."""
    return moment(at_ms) if at_ms else "–"


def ago(at_ms: int | None, now_ms: int) -> str:
    """How long ago, for people."""
    return span(max(0, now_ms - at_ms)) if at_ms else "–"
