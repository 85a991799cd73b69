"""Results as files: CSV that a spreadsheet reads without running it, and NDJSON."""

import csv
import io
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from postroad.model.campaign import Recipient, RowState
from postroad.model.errors import BadInput
from postroad.ports.campaigns import Ground

PAGE: Final = 1_000
FORMATS: Final = ("csv", "ndjson")
NAMES: Final = Recipient.__struct_fields__


async def export(
    store: Ground, campaign: int, form: str, state: RowState | None
) -> AsyncIterator[str]:
    """Pieces of the file, a page of recipients each."""
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
    """A cell that a spreadsheet would take for a formula gets a quote before it. (Telephone
    numbers are numbers.)"""
    text = str(value)
    formula = text[:1] in ("=", "@", "\t", "\r") or (text[:1] in "+-" and not text[1:].isdecimal())
    return f"'{text}" if text and formula else value


def _ndjson(page: list[Recipient]) -> str:
    return "".join(msgspec.json.encode(one).decode() + "\n" for one in page)
