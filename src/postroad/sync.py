"""The blocking face of a road, for Django, scripts and threads: the same verbs without `await`.

    from postroad.sync import Postroad

    with Postroad("sqlite:///road.db") as road:
        road.send("resize-image", {"id": 7})

The road itself lives in one background thread; any thread may call it.
"""

import asyncio
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

import apsw

from postroad import app
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.errors import BadInput, NotOpen, PostroadError, Reject, RetryLater
from postroad.ports.transport import Transport
from postroad.transports.job import Message
from postroad.verbs.audit import AuditVerbs
from postroad.verbs.campaigns import CampaignAdmin
from postroad.verbs.control import LaneControls
from postroad.verbs.credentials import CredentialAdmin
from postroad.verbs.dead import DeadMessages
from postroad.verbs.figures import FleetRollups, FleetWorkers
from postroad.verbs.grouping import VerbGroup
from postroad.verbs.inspection import Inspection
from postroad.verbs.limits import NamedLimits
from postroad.verbs.mailboxes import MailboxAdmin
from postroad.verbs.messages import Messages
from postroad.verbs.parts import Parts
from postroad.verbs.privacy import PrivacyVerbs
from postroad.verbs.receipts import Receipt
from postroad.verbs.registering import F, G, HandlerOptions
from postroad.verbs.rules import RuleAdmin
from postroad.verbs.suppressions import SuppressionVerbs
from postroad.verbs.tokens import TokenAdmin
from postroad.verbs.webhooks import WebhookAdmin

__all__ = ["Message", "Postroad", "PostroadError", "Receipt", "Reject", "RetryLater", "Send"]

P = ParamSpec("P")
R = TypeVar("R")


class Verbs:
    """Verbs that wait for those of `target`, the same group of the road itself."""

    def __init__(self, target: Any, wait: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._target = target
        self._wait = wait


def blocking(
    verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], via: str = "_wait"
) -> Callable[Concatenate[Any, P], R]:
    """The same verb, waited for. `via` names the method that knows how to wait."""
    name = verb.__name__

    @wraps(verb)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        wait: Callable[[Coroutine[Any, Any, R]], R] = getattr(self, via)
        return wait(getattr(self._target, name)(*args, **kwargs))

    return call


class BlockingDead(Verbs):
    """List, show, replay and purge the messages that will not be tried again."""

    list, show = blocking(DeadMessages.list), blocking(DeadMessages.show)
    replay, purge = blocking(DeadMessages.replay), blocking(DeadMessages.purge)


class BlockingMessages(Verbs):
    """List and search messages, and send finished ones again."""

    list, body = blocking(Messages.list), blocking(Messages.body)
    send_again = blocking(Messages.send_again)


class BlockingLanes(Verbs):
    """Pause, resume, unblock and limit whole lanes, by their number."""

    pause, resume = blocking(LaneControls.pause), blocking(LaneControls.resume)
    unblock, limit = blocking(LaneControls.unblock), blocking(LaneControls.limit)


class BlockingInspection(Verbs):
    """List queues, lanes and retry levels, and count messages."""

    queues, lanes = blocking(Inspection.queues), blocking(Inspection.lanes)
    overview, levels = blocking(Inspection.overview), blocking(Inspection.levels)


class BlockingRollups(Verbs):
    """Read figures of the whole fleet."""

    list, recent = blocking(FleetRollups.list), blocking(FleetRollups.recent)


class BlockingWorkers(Verbs):
    """List the processes that deliver."""

    list = blocking(FleetWorkers.list)


class BlockingLimits(Verbs):
    """Set, list and lift limits that many lanes share."""

    put, list = blocking(NamedLimits.put), blocking(NamedLimits.list)
    delete = blocking(NamedLimits.delete)


class BlockingRules(Verbs):
    """Put, list, delete and test answer rules."""

    put, list = blocking(RuleAdmin.put), blocking(RuleAdmin.list)
    delete, test = blocking(RuleAdmin.delete), blocking(RuleAdmin.test)


class BlockingTokens(Verbs):
    """Make, list and revoke access tokens."""

    make, list = blocking(TokenAdmin.make), blocking(TokenAdmin.list)
    revoke, who = blocking(TokenAdmin.revoke), blocking(TokenAdmin.who)


class BlockingAudit(Verbs):
    """List who changed what."""

    list = blocking(AuditVerbs.list)


class BlockingPrivacy(Verbs):
    """Erase what is stored about a tenant or a recipient."""

    erase, erasure = blocking(PrivacyVerbs.erase), blocking(PrivacyVerbs.erasure)
    erasures = blocking(PrivacyVerbs.erasures)


class BlockingMailboxes(Verbs):
    """Make, list, explain and delete the hub's mailboxes."""

    create, list = blocking(MailboxAdmin.create), blocking(MailboxAdmin.list)
    explain, delete = blocking(MailboxAdmin.explain), blocking(MailboxAdmin.delete)
    stats = blocking(MailboxAdmin.stats)


class BlockingWebhooks(Verbs):
    """Set how webhooks are called, and read the log of their tries."""

    set, get = blocking(WebhookAdmin.set), blocking(WebhookAdmin.get)
    list, delete = blocking(WebhookAdmin.list), blocking(WebhookAdmin.delete)
    attempts, rotate_keys = blocking(WebhookAdmin.attempts), blocking(WebhookAdmin.rotate_keys)


class BlockingCampaigns(Verbs):
    """Send one template to many recipients."""

    create, list = blocking(CampaignAdmin.create), blocking(CampaignAdmin.list)
    edit, clone = blocking(CampaignAdmin.edit), blocking(CampaignAdmin.clone)
    delete, details = blocking(CampaignAdmin.delete), blocking(CampaignAdmin.details)
    show, exact = blocking(CampaignAdmin.show), blocking(CampaignAdmin.exact)
    import_file = blocking(CampaignAdmin.import_file)
    discard_import = blocking(CampaignAdmin.discard_import)
    preview, test_send = blocking(CampaignAdmin.preview), blocking(CampaignAdmin.test_send)
    dry_run, schedule = blocking(CampaignAdmin.dry_run), blocking(CampaignAdmin.schedule)
    start, stop = blocking(CampaignAdmin.start), blocking(CampaignAdmin.stop)
    resume, retry = blocking(CampaignAdmin.resume), blocking(CampaignAdmin.retry)
    cancel, settle = blocking(CampaignAdmin.cancel), blocking(CampaignAdmin.settle)
    lookup, recipients = blocking(CampaignAdmin.lookup), blocking(CampaignAdmin.recipients)


class BlockingSuppressions(Verbs):
    """Keep lists of recipients that are not sent to."""

    add, remove = blocking(SuppressionVerbs.add), blocking(SuppressionVerbs.remove)
    list, import_ = blocking(SuppressionVerbs.list), blocking(SuppressionVerbs.import_)
    take_report = blocking(SuppressionVerbs.take_report)


class BlockingCredentials(Verbs):
    """Store, check and delete the credentials that campaigns send with."""

    put, show = blocking(CredentialAdmin.put), blocking(CredentialAdmin.show)
    list, check = blocking(CredentialAdmin.list), blocking(CredentialAdmin.check)
    delete, rotate_keys = blocking(CredentialAdmin.delete), blocking(CredentialAdmin.rotate_keys)


class Face(ABC):
    """All verbs of a road, for whoever knows how to wait for one."""

    def __init__(self, road: app.Postroad) -> None:
        self._target = road
        for name, group in vars(Face).items():
            if isinstance(group, VerbGroup):
                setattr(self, name, group.kind(getattr(road, name), self._wait))

    dead = VerbGroup(BlockingDead)
    messages = VerbGroup(BlockingMessages)
    lanes = VerbGroup(BlockingLanes)
    inspect = VerbGroup(BlockingInspection)
    rollups = VerbGroup(BlockingRollups)
    workers = VerbGroup(BlockingWorkers)
    webhooks = VerbGroup(BlockingWebhooks)
    campaigns = VerbGroup(BlockingCampaigns)
    credentials = VerbGroup(BlockingCredentials)
    suppressions = VerbGroup(BlockingSuppressions)
    mailboxes = VerbGroup(BlockingMailboxes)
    limits = VerbGroup(BlockingLimits)
    rules = VerbGroup(BlockingRules)
    tokens = VerbGroup(BlockingTokens)
    audit = VerbGroup(BlockingAudit)
    privacy = VerbGroup(BlockingPrivacy)

    send, send_many = blocking(app.Postroad.send), blocking(app.Postroad.send_many)
    send_each, send_in = blocking(app.Postroad.send_each), blocking(app.Postroad.send_in)
    cancel, cancel_all = blocking(app.Postroad.cancel), blocking(app.Postroad.cancel_all)
    settle, limit = blocking(app.Postroad.settle), blocking(app.Postroad.limit)
    pause, resume = blocking(app.Postroad.pause), blocking(app.Postroad.resume)
    unblock, explain = blocking(app.Postroad.unblock), blocking(app.Postroad.explain)
    explain_queue = blocking(app.Postroad.explain_queue)
    explain_lane = blocking(app.Postroad.explain_lane)

    @property
    def postroad(self) -> app.Postroad:
        """The road itself, with its async face."""
        return self._target

    def handler(self, name: str, **options: Unpack[HandlerOptions]) -> Callable[[F], F]:
        """Register a function, plain or async, as the recipient of a queue; the options are those
        of `postroad.Postroad.handler`."""
        return self._target.handler(name, **options)

    def every(
        self,
        cron: str,
        *,
        tz: str = "UTC",
        missed: str = "latest",
        name: str = "",
        **options: Unpack[HandlerOptions],
    ) -> Callable[[G], G]:
        """Call a function at the times of a cron line, once in the whole fleet."""
        return self._target.every(cron, tz=tz, missed=missed, name=name, **options)

    def connection(self) -> apsw.Connection:
        """On SQLite: open a connection for your own tables in the road's file and for `send_in`."""

        async def give() -> apsw.Connection:
            return self._target.connection()

        return self._wait(give())

    @abstractmethod
    def _wait(self, verb: Coroutine[Any, Any, R]) -> R:
        """Run a verb to its end, and return its answer."""


class Postroad(Face):
    """A road that blocks: register handlers, send messages, run. Open it after a fork."""

    def __init__(
        self,
        dsn: str | None = None,
        *,
        token: str = "",
        settings: Settings | None = None,
        transports: Sequence[Transport] = (),
        parts: Parts | None = None,
    ) -> None:
        road = app.Postroad(dsn, token=token, settings=settings, transports=transports, parts=parts)
        super().__init__(road)
        self._opening = threading.Lock()
        self._starting = threading.RLock()  # a signal's handler may send, too
        """Held while a verb is given to the loop: one that is ending would never run it."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runs: set[Future[None]] = set()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Open the road for good, as a web server does; `with road:` opens and closes it."""
        with self._opening:
            if self._loop is not None:
                raise BadInput("this road is open already: open it once, any thread may use it")
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="postroad", daemon=True)
            thread.start()
            self._loop, self._thread = loop, thread
            try:
                _ = self._wait(self._target.__aenter__())  # it answers itself
            except BaseException:
                self._end()
                raise

    def close(self) -> None:
        """Stop running, and close the store."""
        with self._opening:
            if self._loop is None:
                return
            try:
                if self._runs:
                    self.stop()
                    wait(self._runs)
                self._wait(self._target.__aexit__(None, None, None))
            finally:
                self._end()

    def _end(self) -> None:
        with self._starting:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        # Threads that still wait for a verb are told, not left waiting.
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def run(self, *, until_idle: bool = False) -> None:
        """Deliver until stopped, or, with `until_idle`, until nothing is due any more. In the main
        thread SIGTERM and SIGINT stop it in good order."""
        with _signals(self.stop):
            running = self._start(self._target.run(until_idle=until_idle))
            self._runs.add(running)
            running.add_done_callback(self._runs.discard)
            running.result()

    def stop(self) -> None:
        """End `run`. Tries in flight are finished, or given back without counting as one."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._target.stop)

    def _wait(self, verb: Coroutine[Any, Any, R]) -> R:
        try:
            return self._start(verb).result()
        except CancelledError:
            raise NotOpen("the road was closed while this waited for it") from None

    def _start(self, verb: Coroutine[Any, Any, R]) -> "Future[R]":
        if threading.current_thread() is self._thread:
            verb.close()
            raise BadInput(
                "this would wait for itself: an async handler runs in the road's own loop; make it "
                "a plain function, or use postroad.Postroad"
            )
        with self._starting:
            if self._loop is not None:
                return asyncio.run_coroutine_threadsafe(verb, self._loop)
        verb.close()
        raise NotOpen("the road is not open: use it inside `with road:`, or open() it")


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    # They were cancelled: how they ended is no news.
    _ = await asyncio.gather(*others, return_exceptions=True)


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT end the run, where this is the main thread of a process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def heard(_number: int, _frame: FrameType | None) -> None:
        stop()

    old = {number: signal.signal(number, heard) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
