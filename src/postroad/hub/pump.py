"""The hub at work: it gathers clients' commands, commits them together, then answers them."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Protocol

from postroad.hub.core import Core
from postroad.hub.state import BoxTokens, OnAnswer
from postroad.hub.status import HubStatus, MailboxExplanation, explain, hub_status
from postroad.model.errors import HubInUse, StoreError, StoreUnavailable, UnknownMailbox
from postroad.model.mailbox import Answer, Drop, HubLimits, Looked, Op, RefusalCode, Refused, Taken
from postroad.model.outcome import Kind
from postroad.model.rollup import Step
from postroad.observe.figures import FigureGatherer
from postroad.ports.clock import Clock, Timer
from postroad.ports.log import Log
from postroad.ports.mailboxes import Mailboxes
from postroad.ports.rollups import Rollups

TICK_MS = 1_000
LEAD_MS = 10_000
"""A store that was away is asked again after this."""
SWEEP_BATCH = 500
FAMILY = "hub:mailboxes"
"""What recipients take from mailboxes is counted under this name."""
LEAD = "renew the lead of the hub"


class DeferredConnection(Protocol):
    """A connection whose frames wait undecoded."""

    def resume_frames(self) -> None:
        """Handle the frames that waited."""


class Hub:
    """Joins the core and its store. While one batch is committed, the next one gathers."""

    def __init__(
        self,
        store: Mailboxes,
        clock: Clock,
        log: Log,
        limits: HubLimits | None = None,
    ) -> None:
        self.limits = limits or HubLimits()
        self.core = Core(clock.steady_s, self.limits)
        self.log = log
        self.commits = 0
        self.deferred: dict[DeferredConnection, None] = {}
        """Connections with frames that wait as bytes, in a storm of subscriptions."""
        self._store = store
        self.clock = clock
        self._wake = asyncio.Event()
        self._timers: dict[str, Timer] = {}
        self._due: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._figures = FigureGatherer(store, clock, log) if isinstance(store, Rollups) else None

    async def open(self) -> None:
        """Become the store's hub, and start."""
        again_s = await self._store.hub_lead()
        self._task = asyncio.get_running_loop().create_task(self._run(), name="postroad hub")
        self._lead_after(again_s)
        self._store.hub_hear(partial(self._now, "lead"))
        self._later("sweep", int(self.limits.sweep_s * 1000))

    async def close(self) -> None:
        """Finish the gathered work, then stop."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers = {}
        task, self._task = self._task, None
        if task is not None:
            self._due.add("stop")
            self._wake.set()
            await task
            if self._figures is not None:
                await self._figures.end()
            await self._store.hub_unlead()

    async def delete(self, name: str) -> None:
        """Delete a mailbox with all that is in it, without its token."""
        answer = await self._ask(lambda settle: self.core.drop(Drop(name), settle))
        if isinstance(answer, Refused):
            raise UnknownMailbox(f"there is no mailbox {name!r} any more")

    async def _ask(self, hand_over: Callable[[OnAnswer], None]) -> Answer:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        hand_over(answered.set_result)
        self.wake()
        answer = await answered
        if isinstance(answer, Refused) and answer.code is RefusalCode.unavailable:
            raise StoreUnavailable(answer.text)
        return answer

    async def explain(self, name: str) -> MailboxExplanation:
        """Explain why a mailbox's messages are delivered, or are not."""
        return explain(self.core, name, await self._store.box_find(name))

    def status(self) -> HubStatus:
        """Count what the hub is doing."""
        return hub_status(self.core)

    async def ended(self) -> None:
        """Return when the hub has stopped by itself because another one took its place."""
        if self._task is not None:
            await asyncio.shield(self._task)

    def wake(self) -> None:
        """Start work if there is any."""
        core = self.core
        if core.work or core.looks:
            self._wake.set()
        if core.ticks and "tick" not in self._timers:
            self._later("tick", TICK_MS)

    def _later(self, what: str, delay_ms: int) -> None:
        self._timers[what] = self.clock.later(delay_ms, partial(self._now, what))

    def _now(self, what: str) -> None:
        timer = self._timers.pop(what, None)
        if timer is not None:
            timer.cancel()
        self._due.add(what)
        self._wake.set()

    def _lead_after(self, seconds: float) -> None:
        if seconds < math.inf:
            self._later("lead", int(seconds * 1000))

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._chores()  # between any two turns: work may never end
                if self.core.work or self.core.looks:
                    await self._turn()
                    self._resume_deferred()
                    if self.core.stale:
                        await self._sweep()
                    self.wake()
            except HubInUse as error:
                self.log.warning("this hub stops: another one leads the store", error=str(error))
                self._refuse_all(error)
                return
            if "stop" in self._due and not (self.core.work or self.core.looks):
                return

    async def _turn(self) -> None:
        """Look up subscriptions first, then do everything else in one transaction. Both are taken
        now, so that nothing is committed between a lookup and its subscription."""
        core = self.core
        looks = core.next_looks()
        batch = core.batch()
        if looks:
            self._settle(zip((s for _, s in looks), await self._look(looks), strict=True))
        if batch:
            answers = await self._commit([op for op, _ in batch])
            self._settle(zip((settle for _, settle in batch), answers, strict=True))

    def _resume_deferred(self) -> None:
        deferred = iter(list(self.deferred))
        while not self.core.lookups_full and (one := next(deferred, None)) is not None:
            del self.deferred[one]
            one.resume_frames()

    async def _look(self, looks: list[tuple[BoxTokens, OnAnswer]]) -> list[Answer]:
        asks = [ask for asked, _ in looks for ask in asked]
        try:
            found = await self._store.box_look(asks) if asks else Looked([])
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the hub for all
            return [self._failure(error, "lookup")] * len(looks)
        waiting = iter(found.waiting)
        return [Looked(list(islice(waiting, len(asked)))) for asked, _ in looks]

    async def _commit(self, ops: list[Op]) -> list[Answer]:
        try:
            answers = await self._store.box_commit(ops)
        except HubInUse:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the hub for all
            return [self._failure(error, "commit")] * len(ops)
        self.commits += 1
        self.log.store_works("commit of the hub")
        if self._figures is not None:
            self._count(self._figures, answers)
        return answers

    def _count(self, figures: FigureGatherer, answers: Iterable[Answer]) -> None:
        """Count what recipients took."""
        taken = Counter([answer.tenant for answer in answers if isinstance(answer, Taken)])
        if not taken:
            return
        figures.turn()
        for tenant, count in taken.items():
            figures.add((tenant, FAMILY, FAMILY), Kind.delivered, count=count)
        if "figures" not in self._timers:
            self._later("figures", Step.ten_seconds.ms)

    def _failure(self, error: Exception, operation: str) -> Refused:
        """Log why an operation failed, and return the answer to those who asked for it."""
        if isinstance(error, StoreError):
            self.log.store_failed(f"{operation} of the hub", error)
        else:
            self.log.error("the hub failed", operation=operation, exc_info=error)
        return _unavailable(error)

    def _settle(self, settled: Iterable[tuple[OnAnswer, Answer]]) -> None:
        for settle, answer in settled:
            try:
                settle(answer)
            except Exception:
                self.log.exception("the hub could not deliver an answer")

    async def _chores(self) -> None:
        due, self._due = self._due, self._due & {"stop"}
        if "tick" in due:
            self.core.tick()
            self.wake()
        if "lead" in due:
            await self._lead()
        if "sweep" in due:
            await self._sweep()
        if "figures" in due and self._figures is not None:
            await self._figures.end()

    async def _lead(self) -> None:
        again_s = LEAD_MS / 1000
        try:
            again_s = await self._store.hub_lead()
            self.log.store_works(LEAD)
        except HubInUse:
            raise
        except StoreError as error:
            self.log.store_failed(LEAD, error)
        if "lead" not in self._due:  # else it was asked meanwhile
            self._lead_after(again_s)

    async def _sweep(self) -> None:
        """Delete messages that are too old, and deliver those behind them."""
        self.core.stale = False
        try:
            for name, position in await self._store.box_old(SWEEP_BATCH):
                self.core.expire(name, position)
        except StoreError as error:
            self.log.store_failed("delete old messages of the hub", error)
        if "sweep" not in self._timers:
            self._later("sweep", int(self.limits.sweep_s * 1000))

    def _refuse_all(self, error: StoreError) -> None:
        for client in list(self.core.clients.values()):
            client.link.close(1012, "another hub serves this store")
        pending = [settle for _, settle in (*self.core.looks, *self.core.work)]
        self._settle((settle, _unavailable(error)) for settle in pending)


def _unavailable(error: Exception) -> Refused:
    if not isinstance(error, StoreError):
        return Refused(RefusalCode.unavailable, "try again later: something broke inside the hub")
    return Refused(RefusalCode.unavailable, f"try again later: {error}")
