"""Joins the parts of campaigns: store, credentials, channels, and the worker that sends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from postroad.campaigns.sender import SenderDeps
from postroad.campaigns.worker import CampaignWorker
from postroad.model.credential import Credential
from postroad.model.errors import BadInput, Overloaded
from postroad.model.keyring import KeyRing
from postroad.model.webhook import WebhookRules
from postroad.observe.figures import FigureGatherer
from postroad.observe.tasks import Tasks
from postroad.pacing.pacer import Pacer
from postroad.ports.campaigns import CampaignStore
from postroad.ports.channel import Channel
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.pace import Pace
from postroad.ports.store import Store
from postroad.transports.sms.channel import Login, SmsChannel
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.channel import WebhookChannel
from postroad.transports.webhook.connections import IdleConnections
from postroad.transports.webhook.resolving import Resolve
from postroad.verbs.allowance import Allowance
from postroad.verbs.campaigns import CampaignAdmin
from postroad.verbs.credentials import CredentialAdmin

LEAVE_S: Final = 30.0
"""Besides the time to drain: how long a call may take that began before the stop."""
TURN_S: Final = 30.0
"""How long a test send waits for its slot."""


class CampaignService:
    """The campaigns of a road."""

    def __init__(
        self,
        road: Store,
        ring: KeyRing,
        rules: WebhookRules,
        log: Log,
        idle: IdleConnections,
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
        self,
        owner: int,
        pace: Pace,
        figures: FigureGatherer,
        drain_s: float,
        ended: Callable[[], None],
    ) -> AsyncIterator[CampaignWorker]:
        """Run the campaign worker of this process meanwhile. `ended` is called if it fails.
        `drain_s`: how long its end waits for a store that is away."""
        deps = SenderDeps(self.store, pace, figures, self._road.clock, self._log, owner, drain_s)
        worker = CampaignWorker(deps, self.credentials.open, self._road.ledgers)
        tasks = Tasks(self._log, lambda _: ended())
        task = tasks.start(worker.run(), "campaigns")
        try:
            yield worker
        finally:
            worker.stop()
            await asyncio.wait([task], timeout=drain_s + LEAVE_S)
            if not task.done():  # a stop that takes for ever is worse than an uncertain recipient
                self._log.error(
                    "campaigns do not end in time: open calls are cut off, and uncertain"
                )
                task.cancel()
                await asyncio.wait([task])
            if not task.cancelled():  # which is not to look as if the run itself was
                await task

    async def _turn(self, credential: Credential, cost: int) -> None:
        """Wait for a slot for one call with a credential; Overloaded when that takes long."""
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
        spec, http = (
            credential.spec,
            VettedHttp(self._rules, self._road.clock, self._idle, self._resolve),
        )
        if credential.kind == "webhook":
            return WebhookChannel(secret, http, self._road.clock)
        return SmsChannel(Login(spec.server, spec.account, secret, spec.sender), http)


def campaign_store(road: Store) -> CampaignStore:
    """The campaign store on a road's own database."""
    tables = getattr(road, "state", road)  # a broker's road has them in its state store
    if hasattr(tables, "own_line"):  # PostgreSQL's; the driver of the other one is not loaded
        from postroad.stores.postgres.campaigns import PostgresCampaigns
        from postroad.stores.postgres.store import PostgresStore

        if isinstance(tables, PostgresStore):
            return PostgresCampaigns(tables)
    from postroad.stores.sqlite.campaigns import SqliteCampaigns
    from postroad.stores.sqlite.store import SqliteStore

    if isinstance(tables, SqliteStore):
        return SqliteCampaigns(tables)
    raise BadInput("this store keeps no campaigns: use SQLite or PostgreSQL")
