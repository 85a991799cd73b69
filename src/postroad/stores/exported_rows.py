"""Rows of an export, the same on both databases. Secrets are in none of the statements."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from postroad.model.batch import batch_text
from postroad.model.endpoint import endpoint_id
from postroad.model.event import event_id
from postroad.model.ids import to_text
from postroad.model.private_headers import shown
from postroad.ports.privacy import Exported
from postroad.stores.statements import Row

HEADERS: Final = msgspec.json.Decoder(dict[str, str])
MESSAGE_IDS: Final = ("id", "message_id")
OTHER_IDS: Final = {"endpoint_id": endpoint_id, "event_id": event_id, "batch_id": batch_text}
JSON_COLUMNS: Final = frozenset(
    ("channels", "columns", "fields", "limits", "policy", "settings", "spec", "what")
)


class Export(Struct, frozen=True):
    """How rows of one kind are read. `walks`: the statement looks at so many rows, whosever they
    are, and marks those that are meant; else it answers these alone."""

    columns: str
    """The columns' names, after those of the key."""
    walks: bool = False


EXPORTS: Final = {
    "tenant": Export("description limits made_at"),
    "queue": Export(
        "name transport policy paused_at block_kind block_until block_reason", walks=True
    ),
    "webhook": Export("url settings", walks=True),
    "endpoint": Export("endpoint_id url spec state disabled_by reason failing_since error made_at"),
    "event": Export("event_id type channels made_at matched body"),
    "limit": Export("queue transport server credential name lanes rate cost hours zone"),
    "message": Export(
        "id queue accepted_at due expires_at level attempts order_key headers body",
        walks=True,
    ),
    "dead": Export(
        "id queue accepted_at died_at reason level attempts order_key error status headers body",
        walks=True,
    ),
    "kept_body": Export("id queue order_key ends_at headers body", walks=True),
    "job_output": Export("id queue output ends_at body", walks=True),
    "batch": Export("batch_id state total delivered dead cancelled made_at ended_at sent"),
    "batch_held": Export("id queue due expires_at order_key headers body", walks=True),
    "timetable": Export("name cron every_ms tz queue missed paused changed_at body"),
    "history": Export(
        "id queue state accepted_at finished_at level attempts took_ms recipient", walks=True
    ),
    "attempt": Export(
        "message_id number started_at level outcome status took_ms error",
        walks=True,
    ),
    "webhook_try": Export(
        "message_id number started_at level outcome status took_ms address fault error "
        "headers answer",
        walks=True,
    ),
    "campaign": Export(
        "name state reason spec columns total sent failed uncertain suppressed "
        "created_at started_at ended_at"
    ),
    "recipient": Export(
        "campaign n line recipient fields state tries provider_id error_code "
        "sub_type error sent_at answered_at status status_at"
    ),
    "credential": Export("name channel spec created_at"),
    "attachment": Export("attachment size used_at"),
    "suppression": Export("recipient reason at campaign message note"),
    "mail_report": Export("recipient report at message code note"),
    "mailbox": Export("name quota ttl_ms waiting", walks=True),
    "letter": Export("mailbox position at expires_at body", walks=True),
    "token": Export("id name token_kind scopes role created_at expires_at"),
    "audit": Export(
        "asked_at ended_at actor name address verb what outcome status count", walks=True
    ),
}
"""The kinds of an export, in their order; each has a statement."""


def read_page(
    how: Export, rows: Sequence[Row], limit: int
) -> tuple[list[Exported], tuple[int, int] | None]:
    """The rows that are meant, and where the next page begins; None after the last."""
    over = not rows if how.walks else len(rows) < limit
    after = None if over else max((k1, k2) for k1, k2, *_ in rows)
    meant = [row[3:] for row in rows if row[2]] if how.walks else [row[2:] for row in rows]
    return [_row(how, row) for row in meant], after


def _row(how: Export, row: Row) -> Exported:
    found: Exported = {}
    for name, value in zip(how.columns.split(), row, strict=True):
        found |= (
            {name: to_text(value)} if name in MESSAGE_IDS and how.walks else _value(name, value)
        )
    return found


def _value(name: str, value: Any) -> Exported:
    if name in OTHER_IDS:
        return {name: OTHER_IDS[name](value)}
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
