"""Rows of an export, the same on both databases. Secrets are in none of the statements."""

from base64 import b64encode
from typing import Any, Final

import msgspec
from msgspec import Struct

from postroad.model.ids import to_text
from postroad.model.private_headers import shown
from postroad.ports.privacy import Exported

HEADERS: Final = msgspec.json.Decoder(dict[str, str])
JSON_COLUMNS: Final = frozenset(("columns", "fields", "policy", "settings", "spec", "what"))


class Export(Struct, frozen=True):
    """How rows of one kind are read. `walks`: the statement looks at so many rows, whosever they
    are, and marks those that are meant; else it answers these alone."""

    walks: bool = False
    ids: tuple[str, ...] = ()
    """Columns that are ids of messages."""


EXPORTS: Final = {
    "queue": Export(),
    "endpoint": Export(),
    "limit": Export(),
    "message": Export(walks=True, ids=("id",)),
    "dead": Export(walks=True, ids=("id",)),
    "history": Export(walks=True, ids=("id",)),
    "attempt": Export(walks=True, ids=("message_id",)),
    "webhook_try": Export(walks=True, ids=("message_id",)),
    "campaign": Export(),
    "recipient": Export(),
    "credential": Export(),
    "mailbox": Export(),
    "letter": Export(),
    "token": Export(),
    "audit": Export(),
}
"""The kinds of an export, in their order; each has a statement."""


def read_page(
    how: Export, rows: list[dict[str, Any]], limit: int
) -> tuple[list[Exported], tuple[int, int] | None]:
    """The rows that are meant, and where the next page begins; None after the last."""
    over = not rows if how.walks else len(rows) < limit
    after = None if over else max((row["k1"], row["k2"]) for row in rows)
    meant = [row for row in rows if row.get("meant", True)]
    return [_row(how, row) for row in meant], after


def _row(how: Export, row: dict[str, Any]) -> Exported:
    found: Exported = {}
    for name, value in row.items():
        if name in ("k1", "k2", "meant"):
            continue
        if name in how.ids:
            found[name] = to_text(value)
        else:
            found |= _value(name, value)
    return found


def _value(name: str, value: Any) -> Exported:
    if name == "headers":
        return {name: _headers(value)}
    if name in JSON_COLUMNS or name == "body":
        return _json(name, value)
    if isinstance(value, bytes):
        return {name: value.decode(errors="replace")}
    return {name: value}


def _headers(value: bytes) -> dict[str, str] | str:
    try:
        return shown(HEADERS.decode(value)) if value else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return value.decode(errors="replace")


def _json(name: str, value: Any) -> Exported:
    try:
        return {name: msgspec.json.decode(value)}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        data = value if isinstance(value, bytes) else str(value).encode()
        return {f"{name}_base64": b64encode(data).decode()}
