"""Import: the whole file is checked first, then loaded in batches; a kill in between is resumed."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from postroad.campaigns.reading import BadFile, Check, Problem, Rows, Source, open_source
from postroad.model.campaign import Campaign
from postroad.ports.campaigns import Ground, Import, NewRow

BATCH: Final = 10_000
DOUBLES_SHOWN: Final = 100
T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Told the step, how many characters of the file are read, and its size."""


class Imported(Struct, frozen=True):
    """What became of a file."""

    rows: int
    duplicates: int
    duplicate_lines: tuple[int, ...]
    """The first hundred of them."""
    invalid: int
    problems: tuple[Problem, ...]
    encoding: str
    guessed: bool
    columns: tuple[str, ...]
    resumed_at_line: int


class Importer:
    """Takes one file into one campaign."""

    def __init__(self, store: Ground, check: Check) -> None:
        self._store = store
        self._check = check

    async def run(
        self,
        campaign: Campaign,
        path: Path,
        *,
        encoding: str = "",
        skip_invalid: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """All valid rows of the file, or nothing of it."""
        told = progress or (lambda _step, _done, _size: None)
        column = campaign.spec.recipient
        source = await asyncio.to_thread(open_source, path, column, encoding)
        _same_columns(campaign, source)
        checked = Rows(source, column, self._check, only_check=True)
        count = await asyncio.to_thread(
            _drain, checked, lambda: told("check", checked.bytes_read, source.size)
        )
        if checked.problems and not skip_invalid:
            raise _refused(source, checked)
        if not count:
            raise BadFile(f"{path.name} has no recipients", tuple(checked.problems))
        start = await self._store.open_import(Import(campaign.id, source.digest, source.columns))
        rows = Rows(source, column, self._check)
        doubles = await self._load(start, rows, lambda: told("load", rows.bytes_read, source.size))
        end = await self._store.importing(campaign.id)
        await self._store.end_import(campaign.id, keep=True)
        return Imported(
            end.rows if end else 0,
            end.duplicates if end else 0,
            tuple(doubles),
            checked.invalid,
            tuple(checked.problems),
            source.encoding,
            source.guessed,
            source.columns,
            start.line,
        )

    async def _load(self, start: Import, rows: Rows, told: Callable[[], None]) -> list[int]:
        """The next batch is read in a thread while one is written."""
        fresh = (row for row in rows if row.line > start.line)
        doubles: list[int] = []
        batch = await asyncio.to_thread(_batch, fresh)
        while batch:
            ahead = asyncio.create_task(asyncio.to_thread(_batch, fresh))
            try:
                found = await self._store.load(start, batch, batch[-1].line)
            finally:
                batch = await ahead
            doubles += found[: DOUBLES_SHOWN - len(doubles)]
            told()
        return doubles


def _batch(rows: Iterator[NewRow]) -> list[NewRow]:
    return list(islice(rows, BATCH))


def _drain(rows: Iterable[object], told: Callable[[], None]) -> int:
    count = 0
    for count, _ in enumerate(rows, start=1):
        if count % BATCH == 0:
            told()
    return count


def _same_columns(campaign: Campaign, source: Source) -> None:
    if campaign.columns and campaign.columns != source.columns:
        have, new = ", ".join(campaign.columns), ", ".join(source.columns)
        raise BadFile(f"the campaign has recipients with the columns {have}; this file has {new}")


def _refused(source: Source, checked: Rows) -> BadFile:
    first = checked.problems[0]
    more = f" (and {checked.invalid - 1} more)" if checked.invalid > 1 else ""
    return BadFile(
        f"{source.path.name}, line {first.line}: {first.reason}{more}; nothing was imported",
        tuple(checked.problems),
    )
