"""Exports results as NDJSON, or as CSV in which no cell is a formula."""

import csv
import io
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from postroad.model.campaign import Recipient, RowState
from postroad.model.errors import BadInput
from postroad.ports.campaigns import CampaignRecords

PAGE: Final = 1_000
FORMATS: Final = ("csv", "ndjson")
NAMES: Final = Recipient.__struct_fields__


async def export(
    store: CampaignRecords, campaign: int, form: str, state: RowState | None
) -> AsyncIterator[str]:
    """Export in pieces, a page of recipients each."""
    if form not in FORMATS:
        raise BadInput(f"format {form!r}: there are {', '.join(FORMATS)}")
    if form == "csv":
        yield ",".join(NAMES) + "\r\n"
    after = 0
    while page := await store.page(campaign, state, after, PAGE):
        after = page[-1].n
        yield _csv(page) if form == "csv" else _ndjson(page)


def _csv(page: list[Recipient]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([_safe(value) for value in msgspec.structs.astuple(one)] for one in page)
    return text.getvalue()


def _safe(value: object) -> object:
    """Put a quote before a cell that a spreadsheet would take for a formula. Telephone numbers
    stay as they are."""
    text = str(value)
    formula = text[:1] in ("=", "@", "\t", "\r") or (text[:1] in "+-" and not text[1:].isdecimal())
    return f"'{text}" if text and formula else value


def _ndjson(page: list[Recipient]) -> str:
    return "".join(msgspec.json.encode(one).decode() + "\n" for one in page)
