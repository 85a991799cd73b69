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
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

import apsw

from postroad import app
from postroad.app import Parts
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.errors import BadInput, NotOpen, PostroadError, Reject, RetryLater
from postroad.ports.transport import Transport
from postroad.transports.job import Message
from postroad.verbs.campaigns import CampaignAdmin
from postroad.verbs.control import Controls, LaneControls
from postroad.verbs.credentials import CredentialAdmin
from postroad.verbs.dead import DeadSet
from postroad.verbs.explaining import Explainer
from postroad.verbs.inspection import Inspection
from postroad.verbs.mailboxes import MailboxAdmin
from postroad.verbs.sending import Receipt, Sending
from postroad.verbs.tokens import TokenAdmin
from postroad.verbs.webhooks import WebhookAdmin

__all__ = ["Message", "Postroad", "PostroadError", "Receipt", "Reject", "RetryLater", "Send"]

P = ParamSpec("P")
R = TypeVar("R")


class Waits(Protocol):
    """Something with verbs that can be waited for."""

    _target: Any


def blocking(
    verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], via: str = "_wait"
) -> Callable[Concatenate[Waits, P], R]:
    """The same verb, waited for: `via` is the method that knows how."""
    name = verb.__name__

    @wraps(verb)
    def call(self: Waits, /, *args: P.args, **kwargs: P.kwargs) -> R:
        wait: Callable[[Coroutine[Any, Any, R]], R] = getattr(self, via)
        return wait(getattr(self._target, name)(*args, **kwargs))

    return call


class Verbs:
    """Verbs of a part of the road."""

    def __init__(self, target: object, wait: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._target = target
        self._wait = wait


class BlockingDead(Verbs):
    """Messages that will not be tried again: inspect, replay, purge."""

    list = blocking(DeadSet.list)
    show = blocking(DeadSet.show)
    replay = blocking(DeadSet.replay)
    purge = blocking(DeadSet.purge)


class BlockingLanes(Verbs):
    """Pause, resume, unblock and limit whole lanes, by their number."""

    limit = blocking(LaneControls.limit)
    pause = blocking(LaneControls.pause)
    resume = blocking(LaneControls.resume)
    unblock = blocking(LaneControls.unblock)


class BlockingInspection(Verbs):
    """How the whole road stands."""

    queues = blocking(Inspection.queues)
    lanes = blocking(Inspection.lanes)
    overview = blocking(Inspection.overview)
    levels = blocking(Inspection.levels)


class BlockingTokens(Verbs):
    """Access tokens: make, list, revoke."""

    make = blocking(TokenAdmin.make)
    list = blocking(TokenAdmin.list)
    revoke = blocking(TokenAdmin.revoke)
    who = blocking(TokenAdmin.who)


class BlockingMailboxes(Verbs):
    """The hub's mailboxes: make, list, explain, delete."""

    create = blocking(MailboxAdmin.create)
    list = blocking(MailboxAdmin.list)
    explain = blocking(MailboxAdmin.explain)
    delete = blocking(MailboxAdmin.delete)
    stats = blocking(MailboxAdmin.stats)


class BlockingWebhooks(Verbs):
    """Settings of webhook queues, and the log of their tries."""

    set = blocking(WebhookAdmin.set)
    get = blocking(WebhookAdmin.get)
    attempts = blocking(WebhookAdmin.attempts)
    list = blocking(WebhookAdmin.list)
    delete = blocking(WebhookAdmin.delete)
    rotate_keys = blocking(WebhookAdmin.rotate_keys)


class BlockingCampaigns(Verbs):
    """One template to many recipients."""

    create = blocking(CampaignAdmin.create)
    list = blocking(CampaignAdmin.list)
    show = blocking(CampaignAdmin.show)
    exact = blocking(CampaignAdmin.exact)
    import_file = blocking(CampaignAdmin.import_file)
    discard_import = blocking(CampaignAdmin.discard_import)
    preview = blocking(CampaignAdmin.preview)
    test_send = blocking(CampaignAdmin.test_send)
    dry_run = blocking(CampaignAdmin.dry_run)
    start = blocking(CampaignAdmin.start)
    schedule = blocking(CampaignAdmin.schedule)
    stop = blocking(CampaignAdmin.stop)
    resume = blocking(CampaignAdmin.resume)
    retry = blocking(CampaignAdmin.retry)
    cancel = blocking(CampaignAdmin.cancel)
    settle = blocking(CampaignAdmin.settle)
    lookup = blocking(CampaignAdmin.lookup)
    recipients = blocking(CampaignAdmin.recipients)


class BlockingCredentials(Verbs):
    """Who may send what, how fast."""

    put = blocking(CredentialAdmin.put)
    show = blocking(CredentialAdmin.show)
    list = blocking(CredentialAdmin.list)
    check = blocking(CredentialAdmin.check)
    delete = blocking(CredentialAdmin.delete)
    rotate_keys = blocking(CredentialAdmin.rotate_keys)


class Face(ABC):
    """All verbs of a road, for whoever knows how to wait for one."""

    def __init__(self, road: app.Postroad) -> None:
        self._target = road
        self.handler, self.every = road.handler, road.every
        self.dead = BlockingDead(road.dead, self._wait)
        self.lanes = BlockingLanes(road.lanes, self._wait)
        self.inspect = BlockingInspection(road.inspect, self._wait)
        self.tokens = BlockingTokens(road.tokens, self._wait)
        self.campaigns = BlockingCampaigns(road.campaigns, self._wait)
        self.credentials = BlockingCredentials(road.credentials, self._wait)
        self.mailboxes = BlockingMailboxes(road.mailboxes, self._wait)
        self.webhooks = BlockingWebhooks(road.webhooks, self._wait)

    @property
    def postroad(self) -> app.Postroad:
        """The road itself, with its async face."""
        return self._target

    @abstractmethod
    def _wait(self, verb: Coroutine[Any, Any, R]) -> R:
        """Live through a verb, and answer what it does."""

    send = blocking(Sending.send)
    send_many = blocking(Sending.send_many)
    send_each = blocking(Sending.send_each)
    send_in = blocking(Sending.send_in)
    cancel = blocking(Controls.cancel)
    cancel_all = blocking(Controls.cancel_all)
    settle = blocking(Controls.settle)
    limit = blocking(Controls.limit)
    pause = blocking(Controls.pause)
    resume = blocking(Controls.resume)
    unblock = blocking(Controls.unblock)
    explain = blocking(Explainer.explain)
    explain_queue = blocking(Explainer.explain_queue)
    explain_lane = blocking(Explainer.explain_lane)

    def connection(self) -> apsw.Connection:
        """On SQLite: a connection for your own tables in the road's file, and for `send_in`."""

        async def give() -> apsw.Connection:
            return self._target.connection()

        return self._wait(give())


class Postroad(Face):
    """A road that blocks: register handlers, send messages, run. Open it after a fork."""

    def __init__(
        self,
        dsn: str | None = None,
        *,
        settings: Settings | None = None,
        transports: Sequence[Transport] = (),
        parts: Parts | None = None,
    ) -> None:
        super().__init__(app.Postroad(dsn, settings=settings, transports=transports, parts=parts))
        self._opening = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runs: set[Future[None]] = set()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """For a process that stays, such as a web server; `with road:` does the same."""
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
        """Stop running, and let go of the store."""
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
        loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        # Threads that still wait for a verb are told, not left waiting.
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def run(self, *, until_idle: bool = False) -> None:
        """Deliver, until stopped; or until nothing is due any more. In the main thread SIGTERM
        and SIGINT end it in good order."""
        with _signals(self.stop):
            running = self._start(self._target.run(until_idle=until_idle))
            self._runs.add(running)
            running.add_done_callback(self._runs.discard)
            running.result()

    def stop(self) -> None:
        """End `run`: in-flight work is finished, or given back without spending a try."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._target.stop)

    def _wait(self, verb: Coroutine[Any, Any, R]) -> R:
        try:
            return self._start(verb).result()
        except CancelledError:
            raise NotOpen("the road was closed while this waited for it") from None

    def _start(self, verb: Coroutine[Any, Any, R]) -> "Future[R]":
        loop, thread = self._loop, self._thread
        if loop is None:
            verb.close()
            raise NotOpen("the road is not open: use it inside `with road:`, or open() it")
        if threading.current_thread() is thread:
            verb.close()
            raise BadInput(
                "this would wait for itself: an async handler runs in the road's own loop; make it "
                "a plain function, or use postroad.Postroad"
            )
        return asyncio.run_coroutine_threadsafe(verb, loop)


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
