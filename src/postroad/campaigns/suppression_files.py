"""Reads and writes suppression lists as files: CSV, or NDJSON with a JSON object a line."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct, structs

from postroad.campaigns.exporting import csv_text, iso_time
from postroad.campaigns.reading import BadFile, CsvReader, LineProblem, open_source
from postroad.model.errors import BadInput
from postroad.model.foreign import NAME_CHARACTERS_MAX, clean
from postroad.model.mail_address import PLAIN
from postroad.model.recipients import RecipientCheck
from postroad.model.suppression import Reason, Suppression, check_reason, normal_recipient
from postroad.model.texts import ERROR_MAX

FORMATS: Final = ("csv", "ndjson")
COLUMN: Final = "recipient"
LINE_BYTES_MAX: Final = 1 << 16
BATCH: Final = 1_000
CHECK: Final = RecipientCheck(normal_recipient, PLAIN)


class SuppressionLine(Struct, frozen=True):
    """One entry in a file: a line of NDJSON, or a row whose columns have these names."""

    recipient: str
    reason: str = Reason.by_hand
    at: str = ""
    campaign: str = ""
    message: str = ""
    note: str = ""


LINES: Final = msgspec.json.Decoder(SuppressionLine)
NAMES: Final = SuppressionLine.__struct_fields__


class SuppressionReader:
    """Reads the entries of a file in batches. `problems` has the first hundred invalid lines."""

    def __init__(self, path: Path, form: str, tenant: str, now_ms: int) -> None:
        self._path = path
        self._form = form
        self._tenant = tenant
        self._now_ms = now_ms
        self.invalid = 0
        self.problems: list[LineProblem] = []

    def batches(self) -> Iterator[list[Suppression]]:
        """The valid entries, in order."""
        batch: list[Suppression] = []
        for line, given in self._csv() if self._form == "csv" else self._ndjson():
            try:
                batch.append(self._entry(given))
            except BadInput as error:
                self._wrong(LineProblem(line, str(error)))
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _entry(self, given: SuppressionLine) -> Suppression:
        return Suppression(
            self._tenant,
            normal_recipient(given.recipient),
            check_reason(given.reason or Reason.by_hand),
            _time_ms(given.at) or self._now_ms,
            clean(given.campaign, NAME_CHARACTERS_MAX),
            clean(given.message, NAME_CHARACTERS_MAX),
            clean(given.note, ERROR_MAX),
        )

    def _csv(self) -> Iterator[tuple[int, SuppressionLine]]:
        source = open_source(self._path, COLUMN)
        places = {name: place for place, name in enumerate(source.columns) if name in NAMES}
        reader = CsvReader(source, COLUMN, CHECK)
        for batch in reader.batches():
            for line, cells in zip(batch.lines, batch.rows, strict=True):
                yield line, SuppressionLine(**{name: cells[at] for name, at in places.items()})
        for problem in reader.problems:
            self._wrong(problem)
        self.invalid += reader.invalid - len(reader.problems)

    def _ndjson(self) -> Iterator[tuple[int, SuppressionLine]]:
        with self._path.open("rb") as file:
            for number, line in enumerate(_lines(file, self._path.name), start=1):
                try:
                    yield number, LINES.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    self._wrong(LineProblem(number, clean(str(error), ERROR_MAX)))

    def _wrong(self, problem: LineProblem) -> None:
        self.invalid += 1
        if len(self.problems) < 100:
            self.problems.append(problem)


def _lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Lines that are not empty; a file with one that is too long is refused."""
    while line := file.readline(LINE_BYTES_MAX + 1):
        if len(line) > LINE_BYTES_MAX:
            raise BadFile(f"{name} has a line of over {LINE_BYTES_MAX} bytes")
        if line.strip():
            yield line


def _time_ms(text: str) -> int:
    if not text:
        return 0
    try:
        moment = datetime.fromisoformat(text)
        at_ms = int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise BadInput(f"at {text[:40]!r}: write it as 2026-01-31T12:00:00Z") from None
    if moment.tzinfo is None:
        raise BadInput(f"at {text[:40]!r} has no time zone: write 2026-01-31T12:00:00Z")
    return at_ms


def written(page: Sequence[Suppression], form: str) -> str:
    """Entries in the form in which they are read."""
    rows = [
        SuppressionLine(
            one.recipient, one.reason, iso_time(one.at_ms), one.campaign, one.message, one.note
        )
        for one in page
    ]
    if form == "csv":
        return csv_text(structs.astuple(row) for row in rows)
    return msgspec.json.Encoder().encode_lines(rows).decode()


def head(form: str) -> str:
    """What stands before the entries."""
    return csv_text([NAMES]) if form == "csv" else ""
