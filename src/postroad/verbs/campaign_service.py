"""Joins channels, their credentials, and campaigns with the worker that sends them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from postroad.campaigns.job_run import SenderDeps
from postroad.campaigns.worker import CampaignWorker
from postroad.model.bounce_address import read_bounces
from postroad.model.entities import Queue
from postroad.model.errors import BadInput, Overloaded, StoreError
from postroad.model.keyring import KeyRing
from postroad.model.mail_links import MailLinks
from postroad.model.mail_report import read_soft_bounces
from postroad.model.mail_settings import MailSettings
from postroad.model.redaction import Redaction
from postroad.observe.figures import FigureGatherer
from postroad.observe.tasks import Tasks
from postroad.pacing.pacer import Pacer
from postroad.ports.campaigns import CampaignStore
from postroad.ports.channel import Channel, HasDefault, HasWindow
from postroad.ports.log import Log
from postroad.ports.pace import Pace
from postroad.ports.rules import AnswerRules
from postroad.ports.store import Store
from postroad.ports.transport import Transport
from postroad.transports.channels import ChannelTransport
from postroad.transports.credential_cache import CredentialCache
from postroad.transports.suppression_gate import SuppressionGate
from postroad.verbs.addressing import Addressing
from postroad.verbs.allowance import Allowance
from postroad.verbs.callbacks import Callbacks
from postroad.verbs.campaigns import CampaignAdmin
from postroad.verbs.credentials import CredentialAdmin
from postroad.verbs.mail_reports import MailReports
from postroad.verbs.reopening import open_refused
from postroad.verbs.unsubscribing import Unsubscribing

if TYPE_CHECKING:  # a program that listens for nothing does not load it
    from postroad.bounces.listener import BounceListener

LEAVE_S: Final = 30.0
"""Besides the time to drain: how long a call may take that began before the stop."""
TURN_S: Final = 30.0
"""How long a test send waits for its slot."""


class CampaignService:
    """The campaigns of a road."""

    listener: "BounceListener | None" = None
    """Takes bounces, while the road runs and its settings say so."""

    def __init__(
        self,
        road: Store,
        ring: KeyRing,
        channels: Sequence[Channel],
        log: Log,
        allowance: Allowance,
        mail: MailSettings,
        redaction: Redaction,
    ) -> None:
        self._road = road
        self._log = log
        self._mail = mail
        self._redaction = redaction
        self._links = MailLinks(ring, mail.public_url, mail.bounce_domain)
        self.store = campaign_store(road)
        named = {one.name: one.default() for one in channels if isinstance(one, HasDefault)}
        defaults = {name: one for name, one in named.items() if one is not None}
        self._defaults = tuple(defaults)
        """Channels whose credential of the same name is in the settings."""
        cache = CredentialCache(self.store, ring, road.clock, defaults)
        self.windows = {one.name: one.window for one in channels if isinstance(one, HasWindow)}
        gate = SuppressionGate(road, road.clock, log)
        known = (cache, gate, redaction)
        self.channels = {one.name: ChannelTransport(one, *known) for one in channels}
        self.addressing = Addressing(self.channels.values())
        self._repeats = [one.name for one in channels if one.calls_max > 1]
        self.credentials = CredentialAdmin(self.store, road, ring, self.channels, cache)
        self.unsubscribing = Unsubscribing(road, self.store, self._links)
        soft = read_soft_bounces(mail.soft_bounces)
        self.reports = MailReports(road, self.store, self._links, soft)
        self.callbacks = Callbacks(road, self.store, self.credentials, self.reports)
        self.campaigns = CampaignAdmin(
            self.store, self.credentials, road.clock, self._turn, allowance, road, redaction
        )

    def transports(self, given: Iterable[Transport | Channel]) -> list[Transport]:
        """The transports of channels that single messages are sent by, and others that were
        given."""
        others = [one for one in given if not isinstance(one, Channel)]
        return [*self.addressing.transports, *others]

    def listen(self, spawn: Callable[[Coroutine[object, object, None], str], None]) -> None:
        """Listen for bounces, where the settings say so."""
        if not self._mail.bounces:
            return
        from postroad.bounces.listener import BounceListener

        where, domain = read_bounces(self._mail.bounces), self._mail.bounce_domain
        clock = self._road.clock
        self.listener = BounceListener(where, domain, self._links, self._take, clock, self._log)
        spawn(self.listener.run(), "bounces")

    async def _take(self, raw: bytes, to: str) -> object:
        return await self.reports.take(raw, to, source="bounce listener")

    @asynccontextmanager
    async def sending(
        self,
        owner: int,
        pace: Pace,
        figures: FigureGatherer,
        rules: AnswerRules,
        drain_s: float,
        ended: Callable[[], None],
    ) -> AsyncIterator[CampaignWorker]:
        """Run the campaign worker of this process meanwhile. `ended` is called if it fails.
        `drain_s`: how long its end waits for a store that is away."""
        road, log = self._road, self._log
        await self._reopen()
        parts = (self.store, road, pace, figures, road.clock, log, rules)
        deps = SenderDeps(*parts, owner, drain_s, self._redaction)
        worker = CampaignWorker(deps, self.credentials, self._repeats)
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

    async def _reopen(self) -> None:
        """The settings may have been repaired since a server refused what they say."""
        try:
            for name in self._defaults:
                await open_refused(self.store, self._road, name, name)
        except StoreError as error:
            self._log.warning("could not open queues that are disabled", error=str(error))

    async def _turn(self, queue: Queue, cost: int) -> None:
        """Wait for a slot for one call of a queue; Overloaded when that takes long."""
        ledgers = queue.ledgers
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
                    raise Overloaded(f"{queue.name} has no capacity now: try again later")
                if not block.slots_s:
                    await clock.sleep(max(block.again_s - clock.steady_s(), 0.002))
            raise asking.error
        finally:
            await asking.close()


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
