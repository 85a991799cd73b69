"""Renders the message of a campaign for one recipient."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from postroad.model.campaign import BadTemplate, Campaign, Row, Spec
from postroad.model.entities import Message, Queue
from postroad.model.errors import BadInput
from postroad.model.extras import Needing
from postroad.model.foreign import error_text
from postroad.model.ids import campaign_id
from postroad.model.mail_links import UNSUBSCRIBE_MARK, UNSUBSCRIBE_NAME
from postroad.model.recipients import addressed
from postroad.model.states import NEVER
from postroad.ports.channel import Attaches, Channel

if TYPE_CHECKING:
    from postroad.campaigns.template import Template

FIELDS: Final = msgspec.json.Decoder(list[str])
TEXT, SUBJECT, HTML = "text", "subject", "html"


class RenderedMessage(Struct, frozen=True):
    """A rendered message and what it costs."""

    row: Row
    parts: Mapping[str, str]
    body: bytes
    cost: int
    encoding: str
    problem: str = ""
    """Why it cannot be sent."""


class Templates:
    """The parsed templates of a campaign, by the part of a message that they make."""

    def __init__(self, spec: Spec) -> None:
        texts = {SUBJECT: spec.subject, TEXT: spec.template, HTML: spec.html}
        self._parts = {name: _template(name, text) for name, text in texts.items() if text}
        if TEXT not in self._parts and HTML not in self._parts:
            raise BadTemplate("the template is empty")

    def check_parts(self, channel: Channel) -> None:
        """Raise BadTemplate unless these are the parts that a channel sends."""
        for name in self._parts:
            if name not in channel.parts:
                have = ", ".join(channel.parts)
                raise BadTemplate(f"{channel.name} has no {name}: give {have}")
        named = any(UNSUBSCRIBE_NAME in one.variables for one in self._parts.values())
        if named and HTML not in channel.parts:
            raise BadTemplate(f"{channel.name} has no {UNSUBSCRIBE_NAME}: only mail has links")
        if SUBJECT in channel.parts and SUBJECT not in self._parts:
            raise BadTemplate("the subject is empty: give one")

    def check(self, columns: tuple[str, ...]) -> None:
        """Raise BadTemplate if a variable is not a column."""
        for template in self._parts.values():
            template.check((*columns, UNSUBSCRIBE_NAME))

    def render(self, values: Mapping[str, str]) -> dict[str, str]:
        """Render all parts for one recipient."""
        return {name: template.render(values) for name, template in self._parts.items()}


def _template(part: str, text: str) -> "Template":
    with Needing("a campaign"):
        from postroad.campaigns.template import Template  # Jinja2, which most roads never need

    return Template(text, part)


@lru_cache(64)
def _parsed(subject: str, template: str, html: str) -> Templates:
    return Templates(Spec(template, subject=subject, html=html))


def templates_of(spec: Spec) -> Templates:
    """Parse the templates of a campaign, once for each text."""
    return _parsed(spec.subject, spec.template, spec.html)


def check_attachments(spec: Spec, channel: Channel) -> None:
    """Raise BadInput unless a channel can send these attachments."""
    if not spec.attachments:
        return
    if not isinstance(channel, Attaches):
        raise BadInput(f"{channel.name} has no attachments: leave them out")
    sample = channel.attach(channel.encode(dict.fromkeys(channel.parts, "x")), spec.attachments)
    _ = channel.measure(sample)  # raises


class Renderer:
    """Renders the messages of one campaign."""

    def __init__(self, campaign: Campaign, channel: Channel) -> None:
        self._campaign = campaign
        self._templates = templates_of(campaign.spec)
        self._channel = channel
        self._attach = None
        if campaign.spec.attachments and isinstance(channel, Attaches):
            self._attach = channel.attach

    def render(self, row: Row) -> RenderedMessage:
        """Render the message for one recipient."""
        cells = zip(self._campaign.columns, FIELDS.decode(row.fields), strict=True)
        values = {UNSUBSCRIBE_NAME: UNSUBSCRIBE_MARK, **dict(cells)}
        parts = self._templates.render(values)
        body = self._channel.encode(parts)
        if self._attach is not None:
            body = self._attach(body, self._campaign.spec.attachments)
        measured = self._channel.measure(body)
        return RenderedMessage(row, parts, body, measured.cost, measured.encoding)

    def render_or_problem(self, row: Row) -> RenderedMessage:
        """Render it; if that fails, `problem` says why."""
        try:
            return self.render(row)
        except BadInput as error:
            return RenderedMessage(row, {}, b"", 1, "", error_text(error))


def message_of(
    campaign: int, queue: Queue, rendered: RenderedMessage, *, to: str = "", tries: int = 1
) -> Message:
    """Make a message that a session sends: to its recipient, or, as a test, to somebody else."""
    row = rendered.row
    return Message(
        id=campaign_id(campaign, 0 if to else row.n),
        rung=0,
        queue=queue.id,
        lane=queue.lanes[0],
        level=0,
        attempts=tries - 1,
        marks=0,
        place=0,
        due_ms=0,
        accepted_at_ms=0,
        expires_at_ms=NEVER,
        body=rendered.body,
        headers=addressed(to or row.recipient),
    )
