"""What a campaign would send: shown, sent to somebody else, or asked about at the provider."""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from postroad.campaigns.job_run import OpenedChannel
from postroad.campaigns.redacting import CampaignRedaction
from postroad.campaigns.rendering import (
    HTML,
    SUBJECT,
    TEXT,
    RenderedMessage,
    Renderer,
    message_of,
    templates_of,
)
from postroad.model.campaign import ROW_STATES, Campaign, RowState
from postroad.model.credential import BadCredential
from postroad.model.entities import DEFAULT_TENANT, Message, Queue
from postroad.model.errors import BadInput
from postroad.model.foreign import NAME_CHARACTERS_MAX, clean
from postroad.model.outcome import Kind, Outcome
from postroad.model.redaction import Redaction
from postroad.ports.campaigns import CampaignStore
from postroad.ports.channel import Channel, LooksUp
from postroad.ports.store import Store
from postroad.ports.transport import Prepares
from postroad.transports.channels import ChannelSession
from postroad.verbs.campaign_status import CampaignFinder
from postroad.verbs.credentials import CredentialAdmin
from postroad.verbs.restoring import check_released

PAGE: Final = 100
Turn = Callable[[Queue, int], Awaitable[None]]
"""Waits until a call of this cost may start for a credential's queue."""


class Preview(Struct, frozen=True):
    """The message for one recipient, and what it costs. `problem`: why it cannot be sent."""

    n: int
    recipient: str
    text: str
    subject: str
    html: str
    cost: int
    encoding: str
    problem: str


class CallAnswer(Struct, frozen=True):
    """What a provider answered to a test."""

    state: RowState
    kind: Kind
    provider_id: str
    code: str
    sub_type: str
    error: str


class CampaignTrials:
    """Shows and tries messages of campaigns; no state changes but what a provider proves."""

    def __init__(
        self,
        store: CampaignStore,
        credentials: CredentialAdmin,
        find: CampaignFinder,
        turn: Turn,
        road: Store,
        redaction: Redaction,
    ) -> None:
        self._redaction = redaction
        self._road = road
        self._store = store
        self._credentials = credentials
        self._find = find
        self._turn = turn

    async def preview(self, name: str, row: int = 1, *, tenant: str = DEFAULT_TENANT) -> Preview:
        """The message for one recipient, by the recipient's number, without redacted fields."""
        campaign = await self._find.get(name, tenant)
        channel = self._credentials.usable(await self._find.credential(campaign)).channel
        sent = await self._rendered(campaign, channel, row)
        hiding, shown = CampaignRedaction(self._redaction, campaign), sent
        if hiding.hides:
            shown = Renderer(campaign, channel).render_or_problem(hiding.row(sent.row))
        text, subject, html = (shown.parts.get(part, "") for part in (TEXT, SUBJECT, HTML))
        cost = (sent.cost, sent.encoding, hiding.text(sent.row, sent.problem))
        return Preview(row, sent.row.recipient, text, subject, html, *cost)

    async def test_send(
        self, name: str, to: str, row: int = 1, *, tenant: str = DEFAULT_TENANT
    ) -> CallAnswer:
        """Send the message of one recipient to somebody else, as a test; no state changes."""
        _ = await check_released(self._road)  # nothing of a held road is sent, not even a test
        campaign = await self._find.get(name, tenant)
        credential = await self._find.credential(campaign)
        to = self._credentials.channel(credential).recipients.one(to)
        opened = await self._credentials.session_for(credential, to)
        hiding = CampaignRedaction(self._redaction, campaign)
        try:
            rendered = await self._rendered(campaign, opened.channel, row)
            if rendered.problem:
                raise BadInput(f"recipient {row}: {hiding.text(rendered.row, rendered.problem)}")
            if found := await self._road.suppressed(tenant, [to]):
                raise BadInput(f"{to} is on a suppression list: {found[to]}")
            message = message_of(campaign.id, opened.queue, rendered, to=to)
            sent = await self._sent(opened, message, rendered.cost)
            outcome = hiding.outcome(rendered.row, sent)
        finally:
            await opened.session.close()
        said = outcome.provider
        texts = (said.id, said.code, said.sub_type, outcome.error)
        return CallAnswer(ROW_STATES[outcome.kind], outcome.kind, *texts)

    async def _sent(self, opened: OpenedChannel, message: Message, cost: int) -> Outcome:
        session, queue = opened.session, opened.queue
        if isinstance(session, Prepares):
            outcome = await session.prepare(queue, message)
            if outcome is not None:
                return outcome
        await self._turn(queue, cost)
        return await session.send(queue, message)

    async def lookup(self, name: str, *, tenant: str = DEFAULT_TENANT) -> int:
        """Ask the provider about uncertain recipients; returns how many it knows. The others stay
        uncertain."""
        campaign = await self._find.get(name, tenant)
        opened = await self._credentials.session(await self._find.credential(campaign))
        try:
            return await self._look_up(campaign, opened)
        finally:
            await opened.session.close()

    async def _look_up(self, campaign: Campaign, opened: OpenedChannel) -> int:
        renderer, asked = Renderer(campaign, opened.channel), await _asked(opened)
        found = after = 0
        while page := await self._store.page(campaign.id, RowState.uncertain, after, PAGE):
            after = page[-1].n
            for one in page:
                row = (await self._store.rows(campaign.id, one.n - 1, 1))[0]
                message = message_of(campaign.id, opened.queue, renderer.render(row))
                sid = clean(await asked.lookup(opened.queue, message), NAME_CHARACTERS_MAX)
                if sid:
                    found += await self._store.callback(campaign.id, one.n, sid, "queued", "")
        return found

    async def _rendered(self, campaign: Campaign, channel: Channel, n: int) -> RenderedMessage:
        templates_of(campaign.spec).check(campaign.columns)
        found = await self._store.rows(campaign.id, n - 1, 1)
        if not found:
            raise BadInput(f"campaign {campaign.name!r} has no recipient {n}")
        return Renderer(campaign, channel).render_or_problem(found[0])


async def _asked(opened: OpenedChannel) -> LooksUp:
    """The session that can be asked; BadCredential where nobody can."""
    session = opened.session
    inner = await session.session() if isinstance(session, ChannelSession) else session
    if not isinstance(inner, LooksUp):
        raise BadCredential(
            f"{opened.channel.name}: nobody can be asked what arrived; settle what is uncertain"
        )
    return inner
