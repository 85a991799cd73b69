"""Imports a file: it is checked as a whole, then loaded in batches; after a kill it goes on."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, structs

from postroad.campaigns.reading import (
    BadFile,
    CsvReader,
    CsvSource,
    LineProblem,
    RowBatch,
    open_source,
    stamp_of,
)
from postroad.campaigns.rendering import templates_of
from postroad.campaigns.suppressed import SuppressedRecipient, SuppressedTally
from postroad.model.campaign import Campaign, WrongState
from postroad.model.recipients import RecipientCheck
from postroad.ports.campaigns import CampaignRecords, Import, NewRows
from postroad.ports.suppressions import SuppressionLists

LOAD: Final = 20_000
LOAD_BYTES: Final = 1 << 23
"""Maximum rows and bytes in one transaction."""
DOUBLES_SHOWN: Final = 100
ENCODER: Final = msgspec.json.Encoder()
Progress = Callable[[str, int, int], None]
"""Called with the step, how many bytes of the file are read, and its size."""


class Imported(Struct, frozen=True):
    """The result of an import."""

    rows: int
    duplicates: int
    duplicate_lines: tuple[int, ...]
    """The first hundred of them."""
    invalid: int
    problems: tuple[LineProblem, ...]
    encoding: str
    guessed: bool
    columns: tuple[str, ...]
    resumed_at_line: int
    suppressed: int = 0
    """Recipients among the lines of this call who are on a suppression list and will not be sent
    to."""
    suppressed_lines: tuple[SuppressedRecipient, ...] = ()
    """The first hundred of them, each with its line."""


class ImportLimits(Struct, frozen=True):
    """How large a file of recipients may be; `road.campaigns.limits` holds others."""

    bytes_max: int = 2 << 30
    rows_max: int = 10_000_000

    def check_bytes(self, size: int, name: str) -> None:
        """Refuse a file that is too large, before it is read."""
        if size > self.bytes_max:
            raise BadFile(
                f"{name} has over {self.bytes_max} bytes: import it in parts, as several campaigns"
            )

    def check_rows(self, count: int, name: str) -> None:
        """Refuse a file with too many rows, before any is stored."""
        if count > self.rows_max:
            raise BadFile(
                f"{name} has over {self.rows_max} recipients: import it in parts, as several "
                "campaigns"
            )


class Importer:
    """Imports files into campaigns."""

    def __init__(
        self,
        store: CampaignRecords,
        check: RecipientCheck,
        limits: ImportLimits,
        lists: SuppressionLists,
    ) -> None:
        self._store = store
        self._check = check
        self._limits = limits
        self._lists = lists

    async def run(
        self,
        campaign: Campaign,
        path: Path,
        *,
        encoding: str = "",
        skip_invalid: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Import all valid rows of a file, or nothing of it."""
        told = progress or (lambda _step, _done, _size: None)
        column = campaign.spec.recipient
        source = await asyncio.to_thread(self._open, path, column, encoding)
        _same_columns(campaign, source)
        templates_of(campaign.spec).check(source.columns)
        checked = CsvReader(source, column, self._check)
        await self._check_rows(
            source,
            checked,
            lambda: told("check", checked.bytes_read, source.size),
            skip_invalid=skip_invalid,
        )
        start = await self._store.open_import(Import(campaign.id, source.digest, source.columns))
        rows = CsvReader(source, column, self._check)
        suppressed = SuppressedTally(self._lists, campaign.tenant)
        end, doubles = await self._load(
            start, rows, suppressed, lambda: told("load", rows.bytes_read, source.size)
        )
        if stamp_of(path) != source.stamp:
            raise BadFile(
                f"{path.name} was changed while it was imported: discard what is there of it"
            )
        if not await self._store.end_import(campaign.id, keep=True):
            raise WrongState("the import was discarded meanwhile: nothing of it stays")
        return Imported(
            end.rows,
            end.duplicates,
            tuple(doubles),
            checked.invalid,
            tuple(checked.problems),
            source.encoding,
            source.guessed,
            source.columns,
            start.line,
            suppressed.count,
            tuple(suppressed.shown),
        )

    async def _check_rows(
        self,
        source: CsvSource,
        checked: CsvReader,
        told: Callable[[], None],
        *,
        skip_invalid: bool,
    ) -> None:
        """Read all rows once, before any is stored; BadFile says what is wrong."""
        name = source.path.name
        count = await asyncio.to_thread(_count, checked, told, self._limits.rows_max)
        self._limits.check_rows(count, name)
        if checked.broken or (checked.problems and not skip_invalid):
            raise _refused(source, checked)
        if not count:
            raise BadFile(f"{name} has no recipients", tuple(checked.problems))

    def _open(self, path: Path, column: str, encoding: str) -> CsvSource:
        self._limits.check_bytes(path.stat().st_size if path.is_file() else 0, path.name)
        return open_source(path, column, encoding)

    async def _load(
        self,
        at: Import,
        reader: CsvReader,
        suppressed: SuppressedTally,
        told: Callable[[], None],
    ) -> tuple[Import, list[int]]:
        """Write batch by batch, while the next one is read in a thread."""
        batches = reader.batches(at.line)
        shown: list[int] = []
        rows = await asyncio.to_thread(_next, reader, batches)
        while rows is not None:
            ahead = asyncio.create_task(asyncio.to_thread(_next, reader, batches))
            try:
                doubles = await self._store.load(at, rows)
                _ = await suppressed.look(rows.lines, rows.recipients)  # it counts them
            finally:
                line, count, rows = rows.lines[-1], len(rows.lines), await ahead
            at = structs.replace(
                at,
                line=line,
                rows=at.rows + count - len(doubles),
                duplicates=at.duplicates + len(doubles),
            )
            shown += doubles[: DOUBLES_SHOWN - len(shown)]
            told()
        return at, shown


def _count(reader: CsvReader, told: Callable[[], None], most: int) -> int:
    """Count the valid rows, up to one more than `most`."""
    count = 0
    for batch in reader.batches():
        count += len(batch.lines)
        if count > most:
            break
        told()
    return count


def _next(reader: CsvReader, batches: Iterator[RowBatch]) -> NewRows | None:
    """Read the next rows in the form in which they are stored."""
    lines, recipients, fields = list[int](), list[str](), list[str]()
    full = reader.bytes_read + LOAD_BYTES
    for batch in batches:
        lines += batch.lines
        recipients += batch.recipients
        fields += ENCODER.encode_lines(batch.rows).decode().split("\n")[:-1]
        if len(lines) >= LOAD or reader.bytes_read > full:
            break
    return NewRows(lines, recipients, fields) if lines else None


def _same_columns(campaign: Campaign, source: CsvSource) -> None:
    if campaign.columns and campaign.columns != source.columns:
        have, new = ", ".join(campaign.columns), ", ".join(source.columns)
        raise BadFile(f"the campaign has recipients with the columns {have}; this file has {new}")


def _refused(source: CsvSource, checked: CsvReader) -> BadFile:
    first = checked.problems[0]
    more = f" (and {checked.invalid - 1} more)" if checked.invalid > 1 else ""
    return BadFile(
        f"{source.path.name}, line {first.line}: {first.reason}{more}; nothing was imported",
        tuple(checked.problems),
    )
