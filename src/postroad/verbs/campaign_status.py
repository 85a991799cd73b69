"""How a campaign stands, in words for people."""

from msgspec import Struct

from postroad.campaigns.estimate import ResultPace, seconds_of
from postroad.model.campaign import Campaign, CampaignState, Counts, UnknownCampaign
from postroad.model.credential import BadCredential, Credential
from postroad.ports.campaigns import CampaignStore
from postroad.ports.clock import Clock


class CampaignStatus(Struct, frozen=True):
    """The state, counts and rate of a campaign. `eta_s` is 0 if nothing is left or known."""

    id: int
    name: str
    state: str
    reason: str
    counts: Counts
    rate: float
    eta_s: float
    start_at_ms: int
    started_at_ms: int
    ended_at_ms: int
    blocked_until_ms: int
    block_reason: str


def status_of(
    campaign: Campaign, credential: Credential, rate: float, now_ms: int
) -> CampaignStatus:
    """The status of a campaign that sends at this rate. A block that has ended is none."""
    counts, spec = campaign.counts, credential.spec
    allowed_s = seconds_of(counts.unsent, spec.rate, spec.segments_max)
    running = campaign.state == CampaignState.running
    blocked = credential.blocked_until_ms > now_ms
    eta_s = max(counts.unsent / rate if rate else 0.0, allowed_s) if running else 0.0
    return CampaignStatus(
        campaign.id,
        campaign.name,
        campaign.state,
        campaign.reason,
        counts,
        round(rate, 1),
        round(eta_s, 1),
        campaign.start_at_ms,
        campaign.started_at_ms,
        campaign.ended_at_ms,
        credential.blocked_until_ms if blocked else 0,
        credential.block_reason if blocked else "",
    )


class CampaignFinder:
    """Finds campaigns by name, and says how they stand."""

    def __init__(self, store: CampaignStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._pace = ResultPace()

    async def get(self, name: str, tenant: str) -> Campaign:
        """The campaign of that name, or UnknownCampaign."""
        campaign = await self._store.campaign(tenant, name)
        if campaign is None:
            raise UnknownCampaign(f"no campaign {name!r}: see `postroad campaign list`")
        return campaign

    async def credential(self, campaign: Campaign) -> Credential:
        """The credential that a campaign sends with, or BadCredential."""
        credential = await self._store.credential_of(campaign.id)
        if credential is None:
            raise BadCredential(f"the credential of campaign {campaign.name!r} is gone")
        return credential

    async def status(self, campaign: Campaign) -> CampaignStatus:
        """How a campaign stands, with its rate since the last call."""
        rate = self._pace.of(campaign, self._clock.steady_s())
        credential = await self.credential(campaign)
        return status_of(campaign, credential, rate, self._clock.now_ms())
