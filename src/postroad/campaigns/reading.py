"""Reads a CSV file of recipients: its encoding, its columns, its rows and their errors."""

import codecs
import csv
import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, TextIO

from msgspec import Struct

from postroad.campaigns.checking import RowChecker
from postroad.model.errors import BadInput
from postroad.model.recipients import RecipientCheck

COLUMNS_MAX: Final = 200
COLUMNS_CHARACTERS: Final = 500
SHOWN_MAX: Final = 100
LOST: Final = "\ufffd"
CHUNK_BYTES: Final = 1 << 20
BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
OTHER_KINDS: Final = (
    (b"PK\x03\x04", "a workbook or an archive: save it as CSV, and give that file"),
    (b"\xd0\xcf\x11\xe0", "a workbook: save it as CSV, and give that file"),
    (b"\x1f\x8b", "compressed: unpack it, and give the CSV file in it"),
    (b"%PDF-", "a PDF document: give the CSV file that it was made of"),
)
"""How files begin that people take for CSV, and what to do about each."""
NOT_OF_FILES: Final = frozenset(
    ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
)
ROW_CHARACTERS_MAX: Final = CHUNK_BYTES
"""Maximum length of a row: a line without an end, or an open quote, is not read without bound."""
LINES_CHARACTERS: Final = 1 << 15
"""Characters read at once."""
BATCH: Final = 500
"""Rows in a batch: 500 stay in the processor's cache, 1.1 µs each against 1.6 in ten thousand."""
BATCH_BYTES: Final = CHUNK_BYTES
"""Maximum bytes in a batch, a bound for memory."""


class BadFile(BadInput):
    """The file cannot be imported, and nothing of it was. `problems` lists lines and reasons."""

    def __init__(self, text: str, problems: "tuple[LineProblem, ...]" = ()) -> None:
        super().__init__(text)
        self.problems = problems


class LineProblem(Struct, frozen=True):
    """What is wrong with one line."""

    line: int
    reason: str


class CsvSource(Struct, frozen=True):
    """A file whose encoding and columns are known."""

    path: Path
    encoding: str
    guessed: bool
    delimiter: str
    columns: tuple[str, ...]
    digest: str
    stamp: tuple[int, int]

    @property
    def size(self) -> int:
        """The file's size in bytes."""
        return self.stamp[0]


class RowBatch(Struct, frozen=True):
    """Valid rows, with their lines and recipients."""

    lines: Sequence[int]
    recipients: Sequence[str]
    rows: Sequence[list[str]]


def open_source(path: Path, recipient: str, encoding: str = "") -> CsvSource:
    """Detect the encoding and read the header."""
    try:
        stamp = stamp_of(path)
        start, digest, is_utf8 = _scan(path)
    except OSError as error:
        raise BadFile(f"{path.name} cannot be read: {error.strerror}") from None
    if not start.strip():
        raise BadFile(f"{path.name} is empty: its first line names the columns")
    if encoding:
        _check_encoding(encoding)
    found, guessed = (encoding, False) if encoding else _detect(path, start, is_utf8=is_utf8)
    first = _first_line(path, found)
    delimiter = max(",;\t", key=first.count) if first.strip() else ","
    try:
        cells = next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error as error:
        raise BadFile(f"{path.name}, line 1: broken CSV: {error}") from None
    columns = tuple(cell.strip() for cell in cells)
    _check_columns(path, columns, recipient)
    return CsvSource(path, found, guessed, delimiter, columns, digest, stamp)


def _check_encoding(encoding: str) -> None:
    """Refuse encodings that are not used for files: `punycode` is read in quadratic time."""
    try:
        known = codecs.lookup(encoding).name not in NOT_OF_FILES
    except (LookupError, ValueError):
        known = False
    if not known:
        raise BadFile(f"there is no encoding {encoding!r} of files")


def stamp_of(path: Path) -> tuple[int, int]:
    """A file's size and modification time, to detect a change."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _scan(path: Path) -> tuple[bytes, str, bool]:
    """Read the whole file once: its first chunk, its digest, and whether it is UTF-8."""
    decoder, digest, is_utf8 = codecs.getincrementaldecoder("utf-8")(), hashlib.sha256(), True
    start, line_bytes = b"", 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            start = start or chunk
            line_bytes = 0 if b"\n" in chunk or b"\r" in chunk else line_bytes + len(chunk)
            if line_bytes > 4 * ROW_CHARACTERS_MAX:  # as UTF-32
                raise BadFile(f"{path.name} has a line of over {ROW_CHARACTERS_MAX} characters")
            digest.update(chunk)
            is_utf8 = is_utf8 and _decodes(decoder, chunk)
    return start, digest.hexdigest(), is_utf8 and _decodes(decoder, b"", final=True)


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _detect(path: Path, start: bytes, *, is_utf8: bool) -> tuple[str, bool]:
    """The encoding: by its byte order mark, else UTF-8 if all is, else a guess, Windows-1252."""
    for mark, name in BOMS:
        if start.startswith(mark):
            return name, False
    for mark, what in OTHER_KINDS:
        if start.startswith(mark):
            raise BadFile(f"{path.name} is {what}")
    if b"\0" in start:
        raise BadFile(f"{path.name} has NUL bytes: it is no text, or UTF-16 without its mark")
    return ("utf-8", False) if is_utf8 else ("cp1252", True)


def _first_line(path: Path, encoding: str) -> str:
    try:
        # Bad bytes in later lines are reported when those lines are read.
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            line = file.readline(CHUNK_BYTES).rstrip("\r\n")
    except (LookupError, ValueError):
        raise BadFile(f"there is no encoding {encoding!r} of files") from None
    if LOST in line:
        raise BadFile(f"{path.name}, line 1: not readable as {encoding}: say which it has")
    return line


def _check_columns(path: Path, columns: tuple[str, ...], recipient: str) -> None:
    if not all(columns) or len(columns) > COLUMNS_MAX:
        raise BadFile(f"{path.name}, line 1: a column has no name, or there are over {COLUMNS_MAX}")
    doubles = sorted({name for name in columns if columns.count(name) > 1})
    if doubles:
        raise BadFile(f"{path.name}, line 1: the column {doubles[0]!r} is there twice")
    if recipient not in columns:
        have = ", ".join(columns)[:COLUMNS_CHARACTERS]
        raise BadFile(f"{path.name}, line 1: no column {recipient!r} among: {have}")


class CsvReader:
    """Reads a source's rows in batches. `problems` has the first hundred invalid lines; after
    `broken` the rest of the file cannot be read."""

    def __init__(self, source: CsvSource, recipient: str, check: RecipientCheck) -> None:
        self._source = source
        self._rows = RowChecker(source.columns, recipient, check)
        self.problems: list[LineProblem] = []
        self.invalid = 0
        self.broken: LineProblem | None = None
        self.bytes_read = 0
        self._row_characters = 0

    def batches(self, after: int = 0) -> Iterator[RowBatch]:
        """The valid rows after a line."""
        source = self._source
        with source.path.open(encoding=source.encoding, newline="") as file:
            for lines, rows in self._cut(file, after):
                recipients = self._rows.rows(rows)
                if recipients is None:
                    yield self._one_by_one(lines, rows)
                else:
                    yield RowBatch(lines, recipients, rows)
        if self.broken is not None:
            self._wrong(self.broken)

    def _cut(self, file: TextIO, after: int) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Split the file into batches of rows that are not empty, each row with its last line."""
        all_lines = chain.from_iterable(self._chunks(file))
        reader = csv.reader(
            self._measured(all_lines), delimiter=self._source.delimiter, strict=True
        )
        lines, rows, full = list[int](), list[list[str]](), BATCH_BYTES
        try:
            next(reader, None)
            for cells in reader:
                self._row_characters = 0
                if not cells or reader.line_num <= after:
                    continue
                lines.append(reader.line_num)
                rows.append(cells)
                if len(rows) == BATCH or self.bytes_read > full:
                    yield lines, rows
                    lines, rows, full = [], [], self.bytes_read + BATCH_BYTES
        except csv.Error as error:
            self.broken = LineProblem(reader.line_num, f"broken CSV: {error}")
        except UnicodeError:
            reason = f"not readable as {self._source.encoding}: say which encoding it has"
            self.broken = LineProblem(_bad_line(self._source), reason)
        if rows:
            yield lines, rows

    def _measured(self, lines: Iterator[str]) -> Iterator[str]:
        """Pass lines on while their row is not too long."""
        for line in lines:
            self._row_characters += len(line)
            if self._row_characters > ROW_CHARACTERS_MAX:
                raise csv.Error(f"a row of over {ROW_CHARACTERS_MAX} characters: is a quote open?")
            yield line

    def _chunks(self, file: TextIO) -> Iterator[list[str]]:
        while lines := file.readlines(LINES_CHARACTERS):
            self.bytes_read = file.buffer.tell()
            yield lines

    def _one_by_one(self, lines: list[int], rows: list[list[str]]) -> RowBatch:
        """Check the rows of a batch one by one, and keep the valid ones."""
        kept, recipients = list[int](), list[str]()
        for place, cells in enumerate(rows):
            try:
                recipients.append(self._rows.row(cells))
                kept.append(place)
            except BadInput as error:
                self._wrong(LineProblem(lines[place], str(error)))
        return RowBatch([lines[one] for one in kept], recipients, [rows[one] for one in kept])

    def _wrong(self, problem: LineProblem) -> None:
        self.invalid += 1
        if len(self.problems) < SHOWN_MAX:
            self.problems.append(problem)


def _bad_line(source: CsvSource) -> int:
    """The first line that cannot be decoded; the decoder's error names only a chunk."""
    with source.path.open(encoding=source.encoding, errors="replace", newline="") as file:
        return next((n for n, line in enumerate(file, start=1) if LOST in line), 0)
