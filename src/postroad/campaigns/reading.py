"""A CSV file of recipients, row by row: encoding, columns, and what is wrong with which line."""

import codecs
import csv
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.ports.campaigns import NewRow

CELL_CHARACTERS_MAX: Final = 10_000
COLUMNS_MAX: Final = 200
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
NUMBER: Final = re.compile(r"[+-]?[0-9][0-9 ().,/-]*%?")
PHONE: Final = re.compile(r"\+?[0-9]{5,15}")
SPACING: Final = str.maketrans("", "", " -().")
ENCODER: Final = msgspec.json.Encoder()

CHECKED: Final = NewRow(0, "", "")
"""Stands for a row that is good, where nothing more is asked."""

Check = Callable[[str], str]
"""A recipient as it is sent to; a BadInput says what is wrong with it."""


class BadFile(BadInput):
    """The file cannot be imported; nothing of it was. `problems` are its lines and reasons."""

    def __init__(self, text: str, problems: "tuple[Problem, ...]" = ()) -> None:
        super().__init__(text)
        self.problems = problems


class Problem(Struct, frozen=True):
    """What is wrong with one line."""

    line: int
    reason: str


class Source(Struct, frozen=True):
    """A file whose encoding and columns are known."""

    path: Path
    encoding: str
    guessed: bool
    delimiter: str
    columns: tuple[str, ...]
    digest: str
    size: int


def phone(text: str) -> str:
    """A telephone number in international form."""
    number = text.translate(SPACING)
    if not PHONE.fullmatch(number):
        raise BadInput(f"{text[:40]!r} is no telephone number: write +6591234567")
    return number if number.startswith("+") else "+" + number


def url(text: str) -> str:
    """A webhook's address; whether it may be called is said when it is."""
    if not text.startswith(("https://", "http://")) or not text.isascii() or " " in text:
        raise BadInput(f"{text[:60]!r} is no address of a webhook: write https://…")
    return text


def open_source(path: Path, recipient: str, encoding: str = "") -> Source:
    """Find out the encoding, and read the header."""
    try:
        with path.open("rb") as file:
            start = file.read(CHUNK_BYTES)
            digest = hashlib.sha256(start).hexdigest()
            size = path.stat().st_size
    except OSError as error:
        raise BadFile(f"{path.name} cannot be read: {error.strerror}") from None
    if not start.strip():
        raise BadFile(f"{path.name} is empty: its first line names the columns")
    found, guessed = (encoding, False) if encoding else detect(path, start)
    first = _first_line(path, found)
    delimiter = max(",;\t", key=first.count) if first.strip() else ","
    columns = tuple(cell.strip() for cell in next(csv.reader([first], delimiter=delimiter), []))
    _check_columns(path, columns, recipient)
    return Source(path, found, guessed, delimiter, columns, f"{digest}:{size}", size)


def detect(path: Path, start: bytes) -> tuple[str, bool]:
    """The encoding: by its mark, else UTF-8 if all of the file is, else Windows-1252, guessed."""
    for mark, name in BOMS:
        if start.startswith(mark):
            return name, False
    if b"\0" in start:
        raise BadFile(f"{path.name} has zero bytes: it is no text, or UTF-16 without its mark")
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252", True
    return "utf-8", False


def _first_line(path: Path, encoding: str) -> str:
    try:
        # Bad bytes of later lines are in the same chunk: they are told when they are reached.
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            line = file.readline(CHUNK_BYTES).rstrip("\r\n")
    except LookupError:
        raise BadFile(f"there is no encoding {encoding!r}") from None
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
        have = ", ".join(columns)
        raise BadFile(f"{path.name}, line 1: no column {recipient!r} among: {have}")


class Rows:
    """Reads a source's rows. What is wrong is kept in `problems`, the first hundred of it."""

    def __init__(
        self, source: Source, recipient: str, check: Check, *, only_check: bool = False
    ) -> None:
        self._source = source
        self._only_check = only_check
        self._place = source.columns.index(recipient)
        self._check = check
        self.problems: list[Problem] = []
        self.invalid = 0
        self.line = 1
        self.bytes_read = 0

    def __iter__(self) -> Iterator[NewRow]:
        source = self._source
        with source.path.open(encoding=source.encoding, newline="") as file:
            reader = csv.reader(self._lines(file), delimiter=source.delimiter, strict=True)
            try:
                next(reader, None)
                for cells in reader:
                    self.line = reader.line_num
                    if cells and (row := self._row(cells)):
                        yield row
            except csv.Error as error:
                self._wrong(reader.line_num, f"broken CSV: {error}")
            except UnicodeError:
                reason = f"not readable as {source.encoding}: say which encoding it has"
                self._wrong(_bad_line(source), reason)

    def _lines(self, file: IO[str]) -> Iterator[str]:
        for line in file:
            self.bytes_read += len(line)
            yield line

    def _row(self, cells: list[str]) -> NewRow | None:
        try:
            self._look(cells)
            recipient = self._check(cells[self._place].strip())
        except BadInput as error:
            self._wrong(self.line, str(error))
            return None
        return CHECKED if self._only_check else NewRow(self.line, recipient, _packed(cells))

    def _look(self, cells: list[str]) -> None:
        columns = self._source.columns
        if len(cells) != len(columns):
            raise BadInput(f"{len(cells)} cells, but {len(columns)} columns")
        for place, cell in enumerate(cells):
            why = _cell(cell)
            if why:
                raise BadInput(f"column {columns[place]!r}: {why}")

    def _wrong(self, line: int, reason: str) -> None:
        self.invalid += 1
        if len(self.problems) < SHOWN_MAX:
            self.problems.append(Problem(line, reason))


def _bad_line(source: Source) -> int:
    """The first line that cannot be decoded. (The error itself is about a chunk.)"""
    with source.path.open(encoding=source.encoding, errors="replace", newline="") as file:
        return next((n for n, line in enumerate(file, start=1) if LOST in line), 0)


def _packed(cells: list[str]) -> str:
    return ENCODER.encode(cells).decode()


def _cell(cell: str) -> str:
    """What is wrong with a cell; empty when nothing is."""
    if not cell or (cell[0] not in "=+-@\t\r" and len(cell) < 1_000):
        return "it has a zero byte" if "\0" in cell else ""
    if len(cell) > CELL_CHARACTERS_MAX:
        return f"over {CELL_CHARACTERS_MAX} characters"
    if cell[0] in "=@\t\r" or (cell[0] in "+-" and not NUMBER.fullmatch(cell)):
        return f"{cell[:20]!r} is a formula to a spreadsheet: put a letter or a blank before it"
    return ""
