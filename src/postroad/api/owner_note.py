"""The note beside a SQLite file that tells commands on this machine where its owner listens."""

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.errors import UnsafeFile
from postroad.stores.naming import file_of
from postroad.stores.privacy import open_to_all, read_private, write_private

BYTES_MAX: Final = 64 << 10


class OwnerNote(Struct, frozen=True):
    """Where the owner of a road's file listens, and a token of its own; only its user may read.
    `cert` is what it shows over TLS."""

    url: str
    token: str
    pid: int
    cert: str = ""


def note_of(dsn: str) -> Path | None:
    """Where the note of a road lies; None when it needs none."""
    file = file_of(dsn)
    return file.with_name(f"{file.name}.door") if file is not None else None


def leave_note(dsn: str, content: OwnerNote) -> None:
    """Write the note: whole or not at all, readable by our user alone."""
    note, road = note_of(dsn), file_of(dsn)
    if note is None or road is None:
        return
    try:
        if open_to_all(note.parent):
            raise UnsafeFile(
                f"every user may replace files in {note.parent}: `chmod o-w {note.parent}`"
            )
        write_private(note, msgspec.json.encode(content), road)
    except OSError as error:
        raise UnsafeFile(
            f"cannot write {error.filename or note}: {error.strerror}; see who put it there "
            f"(`ls -l {note}*`), and remove it"
        ) from None


def remove_note(dsn: str) -> None:
    """Remove the note of a server that stops."""
    note = note_of(dsn)
    if note is not None:
        with suppress(OSError):  # not ours to remove: then it is not believed either
            note.unlink(missing_ok=True)


def read_note(dsn: str) -> OwnerNote | None:
    """Read where the owner listens. A note that a killed process left is found out by asking there.
    One that somebody else may have written is refused: it could lead commands to a stranger."""
    note, road = note_of(dsn), file_of(dsn)
    if note is None or road is None:
        return None
    try:
        return msgspec.json.decode(read_private(note, road, BYTES_MAX) or b"", type=OwnerNote)
    except msgspec.MsgspecError:
        return None
