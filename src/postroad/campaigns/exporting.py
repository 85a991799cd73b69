"""Exports results as NDJSON, or as CSV in which no cell is a formula."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import Struct

from postroad.campaigns.redacting import CampaignRedaction
from postroad.model.campaign import Campaign, Recipient, RowState
from postroad.model.errors import BadInput
from postroad.model.redaction import Redaction
from postroad.ports.campaigns import CampaignRecords

PAGE: Final = 1_000
FORMATS: Final = ("csv", "ndjson")


class ExportedRecipient(Struct, frozen=True):
    """One recipient and its result. Times are as ISO 8601 writes them; empty ones are not known."""

    n: int
    line: int
    recipient: str
    state: str
    provider_id: str
    code: str
    sub_type: str
    error: str
    sent_at: str
    answered_at: str
    status: str
    status_at: str
    columns: dict[str, str]
    """The cells of the file, by its own columns."""


NAMES: Final = ExportedRecipient.__struct_fields__[:-1]


async def export(
    store: CampaignRecords,
    campaign: Campaign,
    form: str,
    state: RowState | None,
    redaction: Redaction,
) -> AsyncIterator[str]:
    """Export in pieces, a page of recipients each, without the fields that are redacted."""
    if form not in FORMATS:
        raise BadInput(f"format {form!r}: there are {', '.join(FORMATS)}")
    own, hiding = _own_columns(campaign), CampaignRedaction(redaction, campaign)
    if form == "csv":
        yield csv_text([[*NAMES, *(f"csv_{name}" if name in NAMES else name for name in own)]])
    after = 0
    while page := await store.page_with_cells(campaign.id, state, after, PAGE):
        after = page[-1][0].n
        rows = [_exported(one, hiding.cells(cells)) for one, cells in page]
        yield csv_text(_row(one, own) for one in rows) if form == "csv" else _ndjson(rows)


def _own_columns(campaign: Campaign) -> tuple[str, ...]:
    """The file's columns in a CSV; the recipient is there already."""
    return tuple(name for name in campaign.columns if name != campaign.spec.recipient)


def _exported(one: Recipient, columns: dict[str, str]) -> ExportedRecipient:
    return ExportedRecipient(
        one.n,
        one.line,
        one.recipient,
        one.state,
        one.provider_id,
        one.code,
        one.sub_type,
        one.error,
        iso_time(one.sent_at_ms),
        iso_time(one.answered_at_ms),
        one.status,
        iso_time(one.status_at_ms),
        columns,
    )


def iso_time(at_ms: int) -> str:
    """A time as ISO 8601 writes it; empty for 0."""
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}Z" if at_ms else ""


def _row(one: ExportedRecipient, own: Sequence[str]) -> list[object]:
    return [*msgspec.structs.astuple(one)[:-1], *(one.columns.get(name, "") for name in own)]


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, in which no cell is a formula."""
    text = io.StringIO()
    csv.writer(text).writerows([_safe(value) for value in row] for row in rows)
    return text.getvalue()


def _safe(value: object) -> object:
    """Put a quote before a cell that a spreadsheet would take for a formula. Telephone numbers
    stay as they are."""
    text = str(value)
    formula = text[:1] in ("=", "@", "\t", "\r") or (text[:1] in "+-" and not text[1:].isdecimal())
    return f"'{text}" if text and formula else value


def _ndjson(rows: Sequence[ExportedRecipient]) -> str:
    return "".join(msgspec.json.encode(one).decode() + "\n" for one in rows)
