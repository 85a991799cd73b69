"""Renders the message of a campaign for one recipient."""

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from postroad.model.campaign import Campaign, Row
from postroad.model.credential import Credential
from postroad.model.errors import BadInput
from postroad.model.extras import Needing
from postroad.model.foreign import error_text
from postroad.model.sms_segments import count_segments
from postroad.ports.channel import ChannelMessage

if TYPE_CHECKING:
    from postroad.campaigns.template import Template

FIELDS: Final = msgspec.json.Decoder(list[str])
CALLBACKS: Final = "/v1/callbacks"


class RenderedMessage(Struct, frozen=True):
    """A rendered message and what it costs."""

    row: Row
    parcel: ChannelMessage
    cost: int
    encoding: str
    problem: str = ""
    """Why it cannot be sent."""


class Renderer:
    """Renders the messages of one campaign."""

    def __init__(self, campaign: Campaign, credential: Credential) -> None:
        self._campaign = campaign
        self._template = template_of(campaign.spec.template)
        self._counts = credential.kind == "twilio"
        self._credential = credential

    def render(self, row: Row) -> RenderedMessage:
        """Render the message for one recipient."""
        campaign = self._campaign
        values = dict(zip(campaign.columns, FIELDS.decode(row.fields), strict=True))
        body = self._template.render(values)
        counted = count_segments(body)
        back = callback_url(self._credential, campaign.id, row.n)
        parcel = ChannelMessage(f"cmp_{campaign.id}_{row.n}", row.recipient, body, back)
        return RenderedMessage(row, parcel, counted.count if self._counts else 1, counted.encoding)

    def render_or_problem(self, row: Row) -> RenderedMessage:
        """Render it; if that fails, `problem` says why."""
        try:
            return self.render(row)
        except BadInput as error:
            return RenderedMessage(
                row, ChannelMessage("", row.recipient, ""), 1, "", error_text(error)
            )


def callback_url(credential: Credential, campaign: int, n: int) -> str:
    """The URL that the provider calls back about one message; empty without a public address."""
    base = credential.spec.callback.rstrip("/")
    return f"{base}{CALLBACKS}/{campaign}/{n}" if base else ""


def is_called_back(credential: Credential) -> bool:
    """Whether the provider reports about messages after it has accepted them."""
    return credential.kind == "twilio" and bool(credential.spec.callback)


@lru_cache(64)
def template_of(text: str) -> "Template":
    """Parse a template, once for each text."""
    with Needing("a campaign"):
        from postroad.campaigns.template import Template  # Jinja2, which most roads never need

    return Template(text)
