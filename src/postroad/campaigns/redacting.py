"""Hides fields of recipients that are sent but must not be shown: a rule of redaction names a
campaign, and a column by its pointer."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from postroad.model.campaign import Campaign, Row
from postroad.model.outcome import Outcome
from postroad.model.redaction import Redaction

CELLS: Final = msgspec.json.Decoder(list[str])


def cells_of(columns: Sequence[str], fields: str) -> dict[str, str]:
    """The cells of a recipient by their columns."""
    return dict(zip(columns, CELLS.decode(fields), strict=False))


class CampaignRedaction:
    """Hides the fields of one campaign's recipients."""

    def __init__(self, redaction: Redaction, campaign: Campaign) -> None:
        self._redaction = redaction
        self._name = campaign.name
        self._columns = campaign.columns
        self.hides = redaction.hides(campaign.name)
        """Whether there is anything to hide."""

    def cells(self, fields: str) -> dict[str, str]:
        """The cells of a recipient, as they may be shown."""
        cells = cells_of(self._columns, fields)
        shown = self._redaction.content(self._name, cells) if self.hides else cells
        return {name: str(cell) for name, cell in shown.items()} if isinstance(shown, dict) else {}

    def row(self, row: Row) -> Row:
        """A recipient whose message may be shown."""
        return replace(
            row, fields=msgspec.json.encode(list(self.cells(row.fields).values())).decode()
        )

    def outcome(self, row: Row, outcome: Outcome) -> Outcome:
        """Return the outcome of a call, without the fields that somebody repeated."""
        return (
            self._redaction.outcome(self._name, self._body(row), outcome) if self.hides else outcome
        )

    def text(self, row: Row, text: str) -> str:
        """What was said about a recipient's message, without them."""
        return self._redaction.text(self._name, self._body(row), text) if self.hides else text

    def _body(self, row: Row) -> bytes:
        return msgspec.json.encode(cells_of(self._columns, row.fields))
