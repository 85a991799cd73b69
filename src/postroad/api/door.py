"""The note beside a SQLite file that tells commands on this machine where its owner listens."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from postroad.stores.naming import file_of


class Door(Struct, frozen=True):
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


def leave_note(dsn: str, door: Door) -> None:
    """Say where we are. Written whole or not at all, readable by our user alone."""
    note = note_of(dsn)
    if note is None:
        return
    draft = note.with_name(f"{note.name}.{door.pid}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(door))
    draft.replace(note)


def remove_note(dsn: str) -> None:
    """We are going."""
    note = note_of(dsn)
    if note is not None:
        note.unlink(missing_ok=True)


def read_note(dsn: str) -> Door | None:
    """Where the owner is; what a killed one left is of no use, and found out by asking."""
    note = note_of(dsn)
    if note is None:
        return None
    try:
        return msgspec.json.decode(note.read_bytes(), type=Door)
    except (OSError, msgspec.MsgspecError):
        return None
