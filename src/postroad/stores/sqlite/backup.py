"""A copy of a road's file while the road runs: of one moment, whole, and verified."""

import os
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw
from msgspec import Struct

from postroad.model.errors import BadInput, CorruptStore
from postroad.stores.naming import keys_beside
from postroad.stores.sqlite.database import Database, named_errors
from postroad.stores.sqlite.migration import VERSION, migrate

PAGES: Final = 2_000
"""Copied between two looks at how far it is: 8 MB."""
Told = Callable[[int, int], None]
"""Called with how many pages are copied, and how many there are."""


class Backup(Struct, frozen=True):
    """What was copied. `keys_file`: the keys that open its secrets; they are not in the copy."""

    path: str
    bytes: int
    made_at_ms: int
    rows: int
    counts: dict[str, int]
    keys_file: str


def back_up(road: Path, target: Path, now_ms: int, told: Told) -> Backup:
    """Copy a road, and verify the copy; only then it gets its name. A process that is killed
    meanwhile leaves files `NAME.….part` and `.part-journal`, which are of no use."""
    if not road.exists():
        raise BadInput(f"there is no road at {road}")
    if target.exists():
        raise BadInput(f"{target} is there already: name a new file")
    try:
        number, name = tempfile.mkstemp(".part", f"{target.name}.", target.parent)
    except OSError as error:
        raise BadInput(f"cannot write into {target.parent}: {error.strerror}") from None
    os.close(number)
    part = Path(name)
    try:
        counts = _copy(road, part, told)
        _verify(part, counts, now_ms)
        _name(part, target)
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            part.with_name(part.name + end).unlink(missing_ok=True)
    keys = keys_beside(road)
    return Backup(
        path=str(target),
        bytes=target.stat().st_size,
        made_at_ms=now_ms,
        rows=sum(counts.values()),
        counts={name: rows for name, rows in counts.items() if rows},
        keys_file=str(keys.absolute()) if keys.exists() else "",
    )


def _copy(road: Path, part: Path, told: Told) -> dict[str, int]:
    """Copy, and count, in one transaction that reads: it sees one moment, and the road's writer
    goes on. Without it each commit of the road would begin the copy again."""
    with closing(Database(road, readonly=True)) as source, named_errors(part):
        source.connection.execute("begin")
        counts = _counts(source.connection)
        with (
            closing(apsw.Connection(str(part))) as copy,
            copy.backup("main", source.connection, "main") as copying,
        ):
            while not copying.done:
                copying.step(PAGES)
                told(copying.page_count - copying.remaining, copying.page_count)
        source.connection.execute("rollback")
    return counts


def _counts(connection: apsw.Connection) -> dict[str, int]:
    tables = "select name from sqlite_schema where type = 'table'"
    found: list[Any] = connection.execute(tables).fetchall()
    counts: dict[str, Any] = {
        name: connection.execute(f'select count(*) from "{name}"').fetchall()[0][0]  # noqa: S608
        for (name,) in found
    }
    return counts


def _verify(part: Path, counts: dict[str, int], now_ms: int) -> None:
    """Every page is in order, nothing is missing, and this release can open it."""
    with closing(Database(part)) as copy, named_errors(part):
        said: list[Any] = copy.connection.execute("pragma integrity_check(3)").fetchall()
        if said != [("ok",)]:
            text = "; ".join(str(line) for (line,) in said)
            raise CorruptStore(f"the copy of the road is damaged, and so may be the road: {text}")
        if _counts(copy.connection) != counts:
            raise CorruptStore("the copy of the road has other rows than the road: copy it again")
        if copy.pragma("user_version") >= VERSION:
            _ = migrate(copy)  # checks that the tables are those of this release
            with copy.connection:
                copy.run("restoration_put", now_ms, 0, "")


def _name(part: Path, target: Path) -> None:
    """Give it its name when it is on the disk; whatever took that name meanwhile stays."""
    for path in (part, part.parent):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    try:
        os.link(part, target)
    except FileExistsError:
        raise BadInput(f"{target} is there already: name a new file") from None
    except OSError:  # a file system without links
        _ = part.rename(target)
    number = os.open(target.parent, os.O_RDONLY)
    os.fsync(number)
    os.close(number)
