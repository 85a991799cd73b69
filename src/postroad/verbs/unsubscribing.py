"""Unsubscribing by the signed link of a mail."""

from postroad.model.ids import campaign_row, key_number
from postroad.model.mail_links import MailLinks, Subscriber
from postroad.model.suppression import Reason, Suppression
from postroad.ports.campaigns import CampaignStore
from postroad.ports.store import Store


class Unsubscribing:
    """Reads links, and puts who follows one on the suppression list."""

    def __init__(self, store: Store, campaigns: CampaignStore, links: MailLinks) -> None:
        self._store = store
        self._campaigns = campaigns
        self._links = links

    def subscriber(self, token: str) -> Subscriber | None:
        """Whom a link names; None if it is not whole, or not signed by this road."""
        return self._links.subscriber(token)

    async def unsubscribe(self, who: Subscriber) -> None:
        """Send no more campaigns to a recipient. A second time changes nothing."""
        campaign, now_ms = await self._campaign(who.ref), self._store.clock.now_ms()
        entry = Suppression(
            who.tenant, who.recipient, Reason.unsubscribed, now_ms, campaign, who.ref
        )
        _ = await self._store.suppress([entry])  # whether it is new does not matter

    async def _campaign(self, ref: str) -> str:
        number = key_number(ref)
        if number is None or number >= 0:
            return ""
        found = await self._campaigns.campaign_by_id(campaign_row(number)[0])
        return found.name if found is not None else ""
