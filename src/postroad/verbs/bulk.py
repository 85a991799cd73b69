"""Campaigns put together: tables, credentials, channels, and the crew that sends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from postroad.campaigns.crew import Crew
from postroad.campaigns.sender import Kit
from postroad.model.credential import Credential
from postroad.model.errors import BadInput, Overloaded
from postroad.model.keyring import KeyRing
from postroad.model.webhook import WebhookRules
from postroad.observe.tasks import Tasks
from postroad.pacing.pacer import Pacer
from postroad.ports.campaigns import CampaignStore
from postroad.ports.channel import Channel
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.pace import Pace
from postroad.ports.store import Store
from postroad.ports.tables import Beside, FileTables, ServerTables
from postroad.transports.sms.channel import Login, SmsChannel
from postroad.transports.ways import Ways
from postroad.transports.webhook.channel import WebhookChannel
from postroad.transports.webhook.connections import Idle
from postroad.transports.webhook.resolving import Resolve
from postroad.verbs.allowance import Allowance
from postroad.verbs.campaigns import CampaignAdmin
from postroad.verbs.credentials import CredentialAdmin

LEAVE_S: Final = 30.0
"""Beside the time to drain: so long a call may take that was begun when the stop came."""
TURN_S: Final = 30.0
"""So long a test send waits for its slot."""


class Bulk:
    """A road's campaigns."""

    def __init__(
        self,
        road: Store,
        ring: KeyRing,
        rules: WebhookRules,
        log: Log,
        idle: Idle,
        allowance: Allowance,
        resolve: Resolve | None = None,
    ) -> None:
        self._road = road
        self._rules = rules
        self._log = log
        self._idle = idle
        self._resolve = resolve
        clock: Clock = road.clock
        self.store = campaign_store(road)
        self.credentials = CredentialAdmin(self.store, road, ring, self._channel, clock)
        self.campaigns = CampaignAdmin(self.store, self.credentials, clock, self._turn, allowance)

    @asynccontextmanager
    async def sending(
        self, owner: int, pace: Pace, drain_s: float, ended: Callable[[], None]
    ) -> AsyncIterator[Crew]:
        """Those who send work in this process meanwhile. `ended` is called when they broke.
        `drain_s`: how long their end waits for a store that is away."""
        kit = Kit(self.store, pace, self._road.clock, self._log, owner, drain_s)
        crew = Crew(kit, self.credentials.open, self._road.ledgers)
        tasks = Tasks(self._log, lambda _: ended())
        task = tasks.start(crew.run(), "campaigns")
        try:
            yield crew
        finally:
            crew.stop()
            await asyncio.wait([task], timeout=drain_s + LEAVE_S)
            if not task.done():  # a stop that takes for ever is worse than an uncertain recipient
                self._log.error("campaigns do not end: what is under way is cut, and uncertain")
                task.cancel()
                await asyncio.wait([task])
            if not task.cancelled():  # which is not to look as if the run itself was
                await task

    async def _turn(self, credential: Credential, cost: int) -> None:
        """Wait until a call of its own may start with a credential; Overloaded when that takes
        long."""
        ledgers = await self._road.ledgers(credential.lane)
        if not ledgers:
            return
        clock, pace = self._road.clock, Pacer(self._road, self._road.clock, self._log)
        asking = Tasks(self._log)
        _ = asking.start(pace.run(), "pace of a test send")  # kept there
        end_s = clock.steady_s() + TURN_S
        try:
            while asking.error is None:
                block = await pace.block(ledgers, "test", 1, cost)
                if block.slots_s and await pace.on_time(block.slots_s[0]):
                    return
                if max(block.again_s, clock.steady_s()) > end_s:
                    raise Overloaded(f"credential {credential.name!r} has no room: try again later")
                if not block.slots_s:
                    await clock.sleep(max(block.again_s - clock.steady_s(), 0.002))
            raise asking.error
        finally:
            await asking.close()

    def _channel(self, credential: Credential, secret: str) -> Channel:
        spec, ways = credential.spec, Ways(self._rules, self._road.clock, self._idle, self._resolve)
        if credential.kind == "webhook":
            return WebhookChannel(secret, ways, self._road.clock)
        return SmsChannel(Login(spec.server, spec.account, secret, spec.sender), ways)


def campaign_store(road: Store) -> CampaignStore:
    """The campaign tables of a road's own database."""
    tables = road.state if isinstance(road, Beside) else road
    if isinstance(tables, ServerTables):
        from postroad.campaigns.postgres.store import PostgresCampaigns

        return PostgresCampaigns(tables)
    if isinstance(tables, FileTables):
        from postroad.campaigns.sqlite.store import SqliteCampaigns

        return SqliteCampaigns(tables, road.clock)
    raise BadInput("this store keeps no campaigns: use SQLite or PostgreSQL")
