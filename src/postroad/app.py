"""The road as a program uses it. This file wires everything together; it alone knows all rooms."""

from collections.abc import AsyncIterator, Callable, Sequence
from importlib import import_module
from typing import Literal, Self, Unpack

import apsw
from msgspec.structs import replace

from postroad.config import REMOTE, Settings, api_address, api_names, checked, is_remote, named_dsn
from postroad.engine.drafting import Send, make_send
from postroad.engine.engine import Engine
from postroad.engine.runners import StopSummary
from postroad.model.control import Cancelled, CancelledAll
from postroad.model.durations import Duration
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, PostroadError, StoreError
from postroad.model.explain import Explanation, LaneExplanation, QueueExplanation
from postroad.model.kept_bodies import kept_ms
from postroad.model.redaction import Redaction
from postroad.observe.log import make_log
from postroad.observe.metrics import Meter
from postroad.ports.channel import Channel
from postroad.ports.clock import SystemClock, system_chance
from postroad.ports.transport import Transport
from postroad.stores.opening import open_store
from postroad.transports.failure_log import FailureLog
from postroad.transports.handler import HandlerTransport
from postroad.transports.registered import ChannelParts, own_channels
from postroad.transports.webhook.own_server import OwnServer
from postroad.transports.webhook.transport import WebhookTransport
from postroad.verbs.allowance import Allowance
from postroad.verbs.attachments import Attachments
from postroad.verbs.audit import AuditVerbs
from postroad.verbs.batches import BatchVerbs
from postroad.verbs.campaign_service import CampaignService
from postroad.verbs.campaigns import CampaignAdmin
from postroad.verbs.control import Controls, LaneControls
from postroad.verbs.credentials import CredentialAdmin
from postroad.verbs.dead import DeadMessages
from postroad.verbs.endpoints import EndpointAdmin
from postroad.verbs.erasures import ErasureWork
from postroad.verbs.event_types import EventTypeAdmin
from postroad.verbs.events import EventVerbs
from postroad.verbs.explaining import Explainer
from postroad.verbs.figures import FleetRollups, FleetWorkers
from postroad.verbs.grouping import VerbGroup
from postroad.verbs.handler_calls import Registering
from postroad.verbs.handler_options import HandlerOptions
from postroad.verbs.inspection import Inspection
from postroad.verbs.jobs import JobVerbs
from postroad.verbs.limits import NamedLimits, QueueLimitOptions
from postroad.verbs.mailboxes import MailboxAdmin, hub_transport
from postroad.verbs.messages import Messages
from postroad.verbs.own_keys import own_keys
from postroad.verbs.parts import Parts
from postroad.verbs.portal import PortalAdmin
from postroad.verbs.privacy import PrivacyVerbs
from postroad.verbs.receipts import Receipt
from postroad.verbs.registering import G, Registry
from postroad.verbs.reopening import Reopening
from postroad.verbs.replays import ReplayVerbs
from postroad.verbs.rules import RuleAdmin
from postroad.verbs.running import LiveEngine, RoadRun, RunParts
from postroad.verbs.sealing import HeaderSeals, Sealing, key_ring
from postroad.verbs.sending import Sending, SendOptions
from postroad.verbs.sessions import SessionAdmin
from postroad.verbs.suppressions import SuppressionVerbs
from postroad.verbs.tenants import TenantAdmin
from postroad.verbs.timetables import TimetableVerbs
from postroad.verbs.tokens import TokenAdmin
from postroad.verbs.webhooks import WebhookAdmin, webhook_transport
from postroad.verbs.window import RoadWindow

__all__ = ["Parts", "Postroad"]


class Postroad:
    """A road: register handlers, send messages, run.

        road = Postroad("sqlite:///road.db")

        async with road:
            await road.send("https://example.com/hook", {"id": 7})
            await road.run()

    The DSN is the argument, else POSTROAD_DSN, else the one of the settings. An address of a server
    (`http://…`, with its `token`) or of the owner of a file (`road:///road.db`) makes a road that
    another process serves.
    """

    defaults = Settings()
    hears_signals, stop_asked, owner = True, False, 0
    meter: Meter | None = None
    engine: Engine | None = None
    stopped: StopSummary | None = None
    """What the last run had in hand when it was stopped."""
    dead = VerbGroup(DeadMessages)
    messages = VerbGroup(Messages)
    lanes = VerbGroup(LaneControls)
    inspect = VerbGroup(Inspection)
    rollups = VerbGroup(FleetRollups)
    workers = VerbGroup(FleetWorkers)
    webhooks = VerbGroup(WebhookAdmin)
    attachments = VerbGroup(Attachments)
    campaigns = VerbGroup(CampaignAdmin)
    credentials = VerbGroup(CredentialAdmin)
    suppressions = VerbGroup(SuppressionVerbs)
    mailboxes = VerbGroup(MailboxAdmin)
    limits = VerbGroup(NamedLimits)
    rules = VerbGroup(RuleAdmin)
    tokens = VerbGroup(TokenAdmin)
    sessions = VerbGroup(SessionAdmin)
    portal = VerbGroup(PortalAdmin)
    tenants = VerbGroup(TenantAdmin)
    audit = VerbGroup(AuditVerbs)
    privacy = VerbGroup(PrivacyVerbs)
    endpoints = VerbGroup(EndpointAdmin)
    event_types = VerbGroup(EventTypeAdmin)
    events = VerbGroup(EventVerbs)
    replays = VerbGroup(ReplayVerbs)
    jobs = VerbGroup(JobVerbs)
    batches = VerbGroup(BatchVerbs)
    timetables = VerbGroup(TimetableVerbs)

    def __new__(cls, dsn: str | None = None, *, settings: object = None, **_: object) -> Self:
        """Make a road of the kind that its DSN names, as `Path` does with paths."""
        known = settings if isinstance(settings, Settings) else cls.defaults
        remote = cls is Postroad and is_remote(named_dsn(dsn, known))
        kind: type[Self] = import_module(REMOTE).RemoteRoad if remote else cls
        return object.__new__(kind)

    def __init__(
        self,
        dsn: str | None = None,
        *,
        token: str = "",
        settings: Settings | None = None,
        transports: Sequence[Transport | Channel] = (),
        parts: Parts | None = None,
    ) -> None:
        self.settings = checked(self.defaults if settings is None else settings)
        self.dsn = named_dsn(dsn, self.settings)
        if token:
            raise BadInput("token= is for a road at an http:// or https:// address")
        parts = parts or Parts()
        self._own_store, chance = parts.store is None, parts.chance or system_chance()
        clock = parts.clock or (parts.store.clock if parts.store else SystemClock())
        form = self.settings.log_format
        log = self.log = parts.log or make_log(self.settings.log_level, form=form, clock=clock)
        store = self.store = parts.store or open_store(self.dsn, clock, log)
        redaction = self._redaction = Redaction(self.settings.redact)
        self._failure_log = FailureLog(log, store.clock, redaction)
        self._handlers = HandlerTransport(self._failure_log, parts.threads)
        self.registry = Registry(self._handlers, self, store.clock)
        self.extra_transports = tuple(transports)
        keys = self.keys = key_ring(self.settings.keys_file)
        rules = self.settings.webhooks
        transforms = self.registry.transforms
        guard = (rules.deny, parts.resolve, redaction)
        own = webhook_transport(store, keys, rules, transforms, parts.resolve, redaction)
        own.own_server = OwnServer(*api_address(self.settings), api_names(self.settings))
        self.hubs = hub_transport(store, self.settings.hubs, *guard)
        allowance = Allowance(store, self.settings.tenants, self.settings.body_bytes_max, log)
        mail, more = self.settings.mail, (keys, store, parts.resolve, parts.names)
        given = ChannelParts(store.clock, rules, own.idle, mail, *more)
        made = (store, keys, own_channels(given, transports), log, allowance, mail, redaction)
        service = self.campaign_service = CampaignService(*made)
        known: tuple[Transport, ...] = (self._handlers, own, self.hubs)
        self._transports = {one.name: one for one in (*known, *service.transports(transports))}
        self._sending = Sending(store, self._transports, service.addressing, keys, allowance)
        self.watchdog_s = self.settings.watchdog_s if parts == Parts() else 0.0  # a server has one
        self._reopening = Reopening(store, self._transports.values(), log)
        beside, seen = (own_keys(self.dsn), self.dsn) if self._own_store else (None, "")
        self._make_verbs(own, allowance)
        self.sealing = Sealing(keys, self.settings.keys_file, beside, log)
        self.sealing.join((self.webhooks, self.credentials, HeaderSeals(store, keys)))
        self.window = RoadWindow(self, seen if self.settings.window else "", store.clock, log)
        run_limits = replace(
            self.settings.limits,
            keep_bodies_ms=kept_ms(self.settings.keep_bodies),
            windows=service.windows,
        )
        watched = (self._reopening, self.privacy, allowance, store)
        run = (chance, run_limits, rules, self._transports, self._sending, allowance, watched)
        self._run = RoadRun(self, RunParts(*run))

    def _make_verbs(self, own: WebhookTransport, allowance: Allowance) -> None:
        store, log, keys, service = self.store, self.log, self.keys, self.campaign_service
        live = LiveEngine(self)
        self.mailboxes = MailboxAdmin(store, log, allowance)
        self._controls = Controls(store, live.last_tries, log)
        self._explainer = Explainer(store, store.clock, live.sends, live.runs, live.window)
        self.lanes, self.rules = LaneControls(store, log), RuleAdmin(store, log)
        send_many, redaction = self._sending.send_many, self._redaction
        self.messages = Messages(store, live.in_flight, keys, send_many, redaction)
        self.workers, self.limits = FleetWorkers(store), NamedLimits(store, log)
        self.audit, self.rollups = AuditVerbs(store), FleetRollups(store, live.unwritten_figures)
        self.sessions, self.event_types = SessionAdmin(store, store.clock), EventTypeAdmin(store)
        self.tokens = TokenAdmin(store, store.clock)
        self.portal = PortalAdmin(store, store.clock, self.settings.mail.public_url)
        self.attachments, self.dead = Attachments(store, allowance), DeadMessages(store, redaction)
        self.inspect = Inspection(store, self.settings.limits.poll_intervals_s, live)
        self.suppressions = SuppressionVerbs(store, service.reports)
        erasing, self.transform = ErasureWork(store, log), own.transform
        self.privacy = PrivacyVerbs(store, erasing, service.addressing, redaction, service.store)
        self.tenants = TenantAdmin(store, erasing, self.settings.tenants, log)
        self.webhooks = WebhookAdmin(store, own, keys, self._sending.open_webhook)
        events = self.events = EventVerbs(store, self._sending, allowance, log, redaction)
        self.replays = ReplayVerbs(store, self._sending, self.settings.limits)
        batches = self.batches = BatchVerbs(store, self._sending)
        self.timetables = TimetableVerbs(store, self._sending, log, redaction)
        self.batch, self.chain = batches.batch, batches.chain
        verbs = (self._sending, self.cancel_all, self.replays)
        self.endpoints = EndpointAdmin(store, own, keys, *verbs, log)
        self.publish, self.publish_in = events.publish, events.publish_in
        self.provide, self.around = self.registry.providers.add, self.registry.around
        self.jobs = self._sending.jobs = JobVerbs(store, live.sends)
        self.campaigns, self.credentials = service.campaigns, service.credentials

    async def __aenter__(self) -> Self:
        if self._sending.is_open:
            raise BadInput("this road is open already: open it once, all tasks may use it")
        self.registry.check(self.store, self.settings.limits.in_flight_max)
        if self._own_store:
            await self.store.open()
        try:
            await self.sealing.open()
            self.owner = await self.store.join()
            self._sending.open(self.owner)
            for name in self._handlers.handlers:
                _ = await self._sending.open_queue(DEFAULT_TENANT, name)  # it is there now
            self.window.open()
        except BaseException:
            await self.__aexit__(None, None, None)  # the file must not stay ours
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._run.end()
        await self.window.close()
        self._sending.close()
        self._failure_log.close()
        await self._reopening.close()
        await self.privacy.tasks.close()
        try:
            await self.store.leave(self.owner)
        except StoreError as gone:
            self.log.warning("could not deregister from the store", error=str(gone))
        finally:
            if self._own_store:
                await self.store.close()

    def handler(self, name: str, **options: Unpack[HandlerOptions]) -> Registering:
        """Register a function, plain or async, as the recipient of a queue; then `await
        function.send(body)` sends to it. Options: `retries`, `ladder`, `timeout`, `concurrency`,
        `ordered`, `on_exhausted`, `at_most_once`, `keep_bodies`, `result_ttl`, `process`."""
        return self.registry.handler(name, options)

    def every(
        self,
        cron: str,
        *,
        tz: str = "UTC",
        missed: str = "latest",
        name: str = "",
        **options: Unpack[HandlerOptions],
    ) -> Callable[[G], G]:
        """Call a function at the times of a cron line, once in the whole fleet. `missed` says
        what happens to times at which no process ran: "latest", "all" or "skip"."""
        return self.registry.every(cron, tz, missed, name, options)

    async def send(
        self, queue: str, body: object, *, confirm: bool = True, **options: Unpack[SendOptions]
    ) -> Receipt:
        """Store one message for a queue, a handler's name or an address, and return its receipt.
        An address as `sms:+6591234567` or `mailto:ann@example.com` is sent to with a `credential`.
        Options: `key`, `order_key`, `deliver_at` or `delay`, `expires_at`, `priority`, `headers`,
        `tenant`, `credential`, `check`, `zone`. On RabbitMQ `confirm=False` returns before the
        broker has confirmed."""
        return await self._sending.send(make_send(queue, body, options), confirm=confirm)

    async def send_many(self, sends: Sequence[Send | tuple[str, object]]) -> list[Receipt]:
        """Store many messages in one transaction. Bad input among them stores none. After a
        Conflict of a key, or a refusal by a broker, `error.stored` has the ids of the others."""
        return await self._sending.send_many(sends)

    async def send_each(
        self, sends: Sequence[Send | tuple[str, object]]
    ) -> list[Receipt | PostroadError]:
        """Store many messages, each on its own: the answer has a receipt or an error for each."""
        return await self._sending.send_each(sends)

    async def send_in(
        self, connection: object, queue: str, body: object, **options: Unpack[SendOptions]
    ) -> Receipt:
        """Send inside your own open transaction: the message is stored if that commits."""
        return await self._sending.send_in(connection, make_send(queue, body, options))

    def connection(self) -> apsw.Connection:
        """On SQLite: open a connection for your own tables in the road's file and for `send_in`."""
        from postroad.stores.sqlite.store import SqliteStore

        if not isinstance(self.store, SqliteStore):
            raise BadInput("only a SQLite road gives connections: use your own with send_in")
        return self.store.connection()

    # Control and explain

    async def cancel(
        self,
        id: str,  # noqa: A002 - the word that receipts use
        *,
        running: bool = False,
        tenant: str = DEFAULT_TENANT,
        wait: Duration = 40.0,
    ) -> Cancelled:
        """Cancel one message. Once the answer is `cancelled`, no try of it starts. `wait`: how many
        seconds to wait for the process that may be sending it. With `running` a job that runs is
        stopped: the answer says how that ended."""
        return await self._controls.cancel(id, tenant, wait, running)

    async def cancel_all(
        self,
        queue: str = "",
        *,
        order_key: str = "",
        tenant: str = DEFAULT_TENANT,
        wait: Duration = 40.0,
    ) -> CancelledAll:
        """Cancel the unfinished messages of a queue, or of one order key, that are stored now.
        The answer counts them by what became of them."""
        steps = self.cancelling(queue, order_key=order_key, tenant=tenant, wait=wait)
        return [CancelledAll(), *[said async for said in steps]][-1]

    def cancelling(
        self,
        queue: str = "",
        *,
        order_key: str = "",
        tenant: str = DEFAULT_TENANT,
        wait: Duration = 40.0,
    ) -> AsyncIterator[CancelledAll]:
        """As `cancel_all`, step by step: the counts so far after each slice."""
        return self._controls.cancelling(queue, order_key, tenant=tenant, wait=wait)

    async def settle(
        self,
        id: str,  # noqa: A002
        outcome: Literal["sent", "unsent"],
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> None:
        """Settle an uncertain message: `sent` makes it delivered, `unsent` has it tried again."""
        await self._controls.settle(id, outcome, tenant=tenant)

    async def pause(self, queue: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Hold a queue: new messages are accepted, and no try starts."""
        await self._controls.pause(queue, tenant=tenant)

    async def resume(self, queue: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Let a paused queue go on: one message first, twice as many after each success."""
        await self._controls.resume(queue, tenant=tenant)

    async def unblock(self, queue: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Lift a queue's block now: quota, rule, handler, setup, unreachable or disabled."""
        await self._controls.unblock(queue, tenant=tenant)

    async def limit(
        self, what: str | int, rate: str | None, **options: Unpack[QueueLimitOptions]
    ) -> None:
        """Limit how many tries start, in the whole fleet: of a queue, or, given a lane's number,
        of all lanes with its credential. `rate` is as `50/s` or `50/s,1000/h`; None lifts it.
        Options: `cost` (what each try counts as), `hours`, `zone`, `tenant`."""
        await self._controls.limit(what, rate, **options)

    async def explain(self, id: str, *, tenant: str | None = DEFAULT_TENANT) -> Explanation:  # noqa: A002
        """Explain a message: what happened, what holds it back, what comes next and when."""
        return await self._explainer.explain(id, tenant=tenant)

    async def explain_queue(self, queue: str, *, tenant: str = DEFAULT_TENANT) -> QueueExplanation:
        """Explain a queue: what waits in it, what holds it back, what comes next."""
        return await self._explainer.explain_queue(queue, tenant=tenant)

    async def explain_lane(
        self, lane: int, *, tenant: str | None = DEFAULT_TENANT
    ) -> LaneExplanation:
        """Explain a lane, by the number that `explain_queue` names."""
        return await self._explainer.explain_lane(lane, tenant=tenant)

    async def run(self, *, until_idle: bool = False) -> None:
        """Deliver until stopped (by SIGTERM or SIGINT too), or, `until_idle`, while any is due."""
        await self._run.run(until_idle=until_idle)

    def stop(self) -> None:
        """End `run`. Tries in flight are finished, or given back without counting as one."""
        self.stop_asked = True
        if self.engine is not None:
            self.engine.ask_to_stop()
