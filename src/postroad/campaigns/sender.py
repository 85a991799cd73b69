"""A sender works on one job: it reads ahead, reserves slots, stores its intents, calls, records."""

import asyncio
from collections import deque
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.campaigns.credential_block import CredentialBlock
from postroad.campaigns.estimate import too_long
from postroad.campaigns.open_hours import RecipientHours
from postroad.campaigns.recording import ResultRecorder
from postroad.campaigns.rendering import RenderedMessage, Renderer, message_of
from postroad.model.campaign import (
    ROW_STATES,
    CallResult,
    Campaign,
    Job,
    Pulse,
    Row,
    RowState,
    Verb,
    again_at_ms,
)
from postroad.model.credential import Credential
from postroad.model.entities import Queue
from postroad.model.errors import Shortage, StoreError
from postroad.model.foreign import clean, error_text
from postroad.model.ids import key_text
from postroad.model.outcome import Kind, Outcome, ProviderAnswer, failed, lacking, unknown
from postroad.model.recipients import lane_of
from postroad.observe.figures import FigureGatherer
from postroad.observe.tasks import Tasks
from postroad.ports.campaigns import CampaignStore
from postroad.ports.channel import Channel, HasWindow
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.pace import Pace
from postroad.ports.rules import AnswerRules
from postroad.ports.store import Store
from postroad.ports.transport import Prepares, Session

SLICE: Final = 2_000
PAGE: Final = 1_000
WINDOW: Final = 512
"""Maximum calls whose results are not written yet."""
INTENTS_A_SESSION: Final = 2
"""Where a channel has only so many sessions: one call is on the wire, the intent of the next is
stored. A process that is killed leaves so many uncertain."""
BLOCK: Final = 128
"""Maximum intents in one commit where nothing limits the rate."""
RETRY_S: Final = 1.0
LOOK_S: Final = 1.0
"""How often a sender reads its queue again."""
ERROR_CHARACTERS_MAX: Final = 500
"""Of an error that is kept with its recipient: ten million may fail."""
TURN: Final = "queue recipients"


class SenderDeps(Struct, frozen=True):
    """What all senders of a process share."""

    store: CampaignStore
    road: Store
    pace: Pace
    figures: FigureGatherer
    clock: Clock
    log: Log
    rules: AnswerRules
    owner: int
    drain_s: float


class JobContext(Struct, frozen=True):
    """One job, with its campaign, and what it sends with: a credential, its channel and queue."""

    job: Job
    campaign: Campaign
    credential: Credential
    channel: Channel
    queue: Queue


async def halt(deps: SenderDeps, campaign: Campaign, why: str) -> None:
    """Halt a campaign, unless somebody else moved it meanwhile."""
    if await deps.store.move(campaign, Verb.halt, why):
        deps.log.warning("campaign halted", campaign=campaign.name, reason=why)


class Sender:
    """Sends one job's messages until the job is done, is stopped or has another owner."""

    def __init__(self, deps: SenderDeps, context: JobContext, session: Session) -> None:
        self._deps = deps
        self._context = context
        self._session = session
        self._renderer = Renderer(context.campaign, context.channel)
        self._recorder = ResultRecorder(deps.store, context.campaign, deps.clock, deps.log)
        self._block = CredentialBlock(deps.store, context.credential, deps.clock)
        sessions = context.channel.sessions if isinstance(context.channel, HasWindow) else 0
        self._window = INTENTS_A_SESSION * sessions or WINDOW
        self._wire = asyncio.Semaphore(sessions or WINDOW)
        self._queue = context.queue
        self._look_s = deps.clock.steady_s()
        self._hours = RecipientHours(context.campaign)
        self._ahead: deque[RenderedMessage] = deque()
        self._after = 0
        self._stopping = False
        self._tasks = Tasks(deps.log, self._recorder.fail)

    @property
    def waiting(self) -> bool:
        """Whether nobody can be sent to now, and when is known."""
        return self._hours.waiting and not self._recorder.busy

    def stop(self) -> None:
        """Begin no more calls; messages that wait for a slot go back to the queue."""
        self._stopping = True
        self._recorder.changed.set()

    def leave(self) -> None:
        """Stop, and wait for a store that is away no longer than the drain time."""
        self._recorder.leave(self._deps.clock.steady_s() + self._deps.drain_s)
        self.stop()

    def hear(self, pulse: Pulse | None) -> None:
        """Obey the state of the job; None: it has another owner."""
        if pulse is None or pulse.campaign != "running":
            self.stop()
        elif pulse.blocked_until_ms > self._block.until_ms:
            self._block.until_ms = pulse.blocked_until_ms

    async def run(self) -> None:
        """Send until nothing is left, wait for calls that are under way, then release the job."""
        try:
            while not self._stopping and await self._tried():
                pass
        finally:
            try:
                await self._drain()
            except BaseException:
                await self._tasks.close()  # their results would never be written
                raise
            await self._let_go()

    async def _tried(self) -> bool:
        try:
            more = await self._turn()
        except StoreError as error:
            self._deps.log.store_failed(TURN, error)
            await self._deps.clock.sleep(RETRY_S)
            return True
        self._deps.log.store_works(TURN)
        return more

    async def _turn(self) -> bool:
        """Begin one block of calls; False when nothing is left."""
        self._recorder.check()
        if self._block.refused:
            await halt(self._deps, self._context.campaign, self._block.refused)
            return False
        await self._look()
        if self._block.left_s:
            await self._wait(min(self._block.left_s, RETRY_S))
            return True
        self._put_off()
        if not self._ahead:
            return await self._refill()
        free = self._window - self._recorder.in_flight
        if free <= 0:
            await self._changed()
            return True
        return await self._begin(free) if await self._prepared() else True

    async def _look(self) -> None:
        """Read the queue again once a second: limits and hours may be put while it is sent to, and
        it may be paused, blocked, or its lane's circuit open."""
        now_s, deps, queue = self._deps.clock.steady_s(), self._deps, self._queue
        if now_s < self._look_s:
            return
        self._look_s = now_s + LOOK_S
        self._queue = await deps.road.find_queue(queue.tenant, queue.name) or queue
        if self._queue.hours != queue.hours:
            self._hours.look_again()
        held_ms = await deps.store.held_until(queue.id, queue.lanes[0])
        self._block.until_ms = max(self._block.until_ms, held_ms)

    def _put_off(self) -> None:
        """Leave those in the queue whose hours have ended since they were read."""
        if not self._queue.hours or not self._ahead:
            return
        now_ms = self._deps.clock.now_ms()
        kept = [one for one in self._ahead if self._may_go(one.row, now_ms)]
        self._ahead = deque(kept)

    def _may_go(self, row: Row, now_ms: int) -> bool:
        if row.due_ms > now_ms:
            self._hours.defer(row.due_ms)
            return False
        return not self._queue.hours or self._hours.admits(self._queue.hours, row, now_ms)

    async def _prepared(self) -> bool:
        """Prepare what takes time before slots are reserved, so that calls start on time. False
        when nobody can be sent to now; what is about one recipient, its call will find."""
        session, queue, first = self._session, self._queue, self._ahead[0]
        if first.problem or not isinstance(session, Prepares):
            return True
        outcome = await session.prepare(queue, message_of(self._context.campaign.id, queue, first))
        if outcome is None or ROW_STATES[outcome.kind] is not RowState.unsent:
            return True
        await self._note(outcome)
        return False

    async def _refill(self) -> bool:
        """Read queued messages, else enqueue a slice, else wait for calls that may come back."""
        store, context = self._deps.store, self._context
        if self._hours.waiting:
            if not self._hours.is_over(self._deps.clock.now_ms()):
                await self._changed()
                return True
            await store.note(context.campaign.id, "")
        rows = await store.queued(context.job, self._after, PAGE)
        if not rows and self._after and not self._hours.put_off:
            self._after = 0
            return True
        if not rows:
            if await store.enqueue(self._deps.owner, context.job, SLICE):
                return True
            if self._recorder.busy:
                await self._changed()
                return True
            if self._hours.put_off:
                await self._wait_for_hours()
                return True
            return False
        self._after = rows[-1].n
        now_ms = self._deps.clock.now_ms()
        rows = [row for row in rows if self._may_go(row, now_ms)]
        tenant, recipients = context.campaign.tenant, [row.recipient for row in rows]
        suppressed = await self._deps.road.suppressed(tenant, recipients)
        for row in rows:
            if row.recipient in suppressed:
                self._keep_back(row, suppressed[row.recipient])
            else:
                self._ahead.append(self._renderer.render_or_problem(row))
        return True

    async def _wait_for_hours(self) -> None:
        """All that is left is outside its hours: say so, and begin again at the first opening."""
        self._after = 0
        why = self._hours.wait(self._deps.clock.now_ms())
        await self._deps.store.note(self._context.campaign.id, why)

    def _keep_back(self, row: Row, reason: str) -> None:
        """Record that a recipient is on a suppression list: no call and no slot is spent on it."""
        self._recorder.in_flight += 1
        self._recorder.add(CallResult(row.n, row.tries, RowState.suppressed, sub_type=reason))

    async def _begin(self, free: int) -> bool:
        """Reserve slots, then store intents, then start the calls."""
        deps, context = self._deps, self._context
        cost = self._ahead[0].cost
        wanted = self._alike(cost, min(free, BLOCK))
        slots: tuple[float | None, ...] = (None,) * wanted
        if self._queue.ledgers and cost <= context.credential.spec.segments_max:
            name = f"campaign {context.campaign.id}"
            block = await deps.pace.block(self._queue.ledgers, name, wanted, cost)
            slots = block.slots_s
            if not slots:
                await self._wait(min(max(block.again_s - deps.clock.steady_s(), 0.002), RETRY_S))
                return True
        messages = [self._ahead.popleft() for _ in slots]
        noted = await deps.store.intend(deps.owner, context.job, [one.row.n for one in messages])
        for message, slot in zip(messages, slots, strict=True):
            n = message.row.n
            if n in noted.tries:
                self._start(message, noted.tries[n], slot)
            elif n in noted.suppressed:  # since they were read
                self._keep_back(message.row, noted.suppressed[n])
        if not noted.tries and not noted.suppressed:  # stopped, or another owner's
            self.stop()
        return True

    def _alike(self, cost: int, most: int) -> int:
        """How many of the next messages cost the same."""
        count = 0
        for message in self._ahead:
            if message.cost != cost or count == most:
                break
            count += 1
        return count

    def _start(self, message: RenderedMessage, tries: int, slot_s: float | None) -> None:
        self._recorder.in_flight += 1
        # `_tasks` keeps it; an error in it ends the job and the process.
        _ = self._tasks.start(self._call(message, tries, slot_s), "campaign call")

    async def _call(self, message: RenderedMessage, tries: int, slot_s: float | None) -> None:
        # Here, not in the session: what waits for its turn when the sender is stopped goes back.
        async with self._wire:
            await self._call_now(message, tries, slot_s)

    async def _call_now(self, message: RenderedMessage, tries: int, slot_s: float | None) -> None:
        n, clock = message.row.n, self._deps.clock
        if slot_s is not None and not await self._deps.pace.on_time(slot_s):
            self._put_back(n, tries)
            return
        if self._stopping or self._block.left_s or self._block.refused:
            self._put_back(n, tries)
            return
        started_ms = clock.now_ms()
        outcome = self._unsendable(message) or await self._sent(message, tries)
        self._count(outcome.kind)
        said = outcome.provider
        error = clean(outcome.error, ERROR_CHARACTERS_MAX)
        texts = (said.id, said.code, said.sub_type, error)
        state, due_ms = self._after_call(message.row, outcome, tries)
        if state is RowState.unsent:
            self._hours.defer(due_ms) if due_ms else self._hours.look_again()
        times = (started_ms, clock.now_ms(), due_ms)
        self._recorder.add(CallResult(n, tries, state, *texts, *times))
        await self._note(outcome)

    def _put_back(self, n: int, tries: int) -> None:
        self._hours.look_again()
        self._recorder.add(CallResult(n, tries, RowState.unsent))

    async def _note(self, outcome: Outcome) -> None:
        try:
            await self._block.note(outcome)
        except StoreError as error:
            self._deps.log.warning("could not store the block of a credential", error=str(error))

    def _unsendable(self, message: RenderedMessage) -> Outcome | None:
        """The outcome of a message that cannot be sent as it is."""
        why, sub_type = message.problem, "bad_text"
        if not why:
            why = too_long(message.cost, self._context.credential.spec.segments_max)
            sub_type = "too_many_segments"
        return replace(failed(why), provider=ProviderAnswer("", "", sub_type)) if why else None

    def _count(self, kind: Kind) -> None:
        """Count a call. It has no lateness: recipients of a campaign are due one after another."""
        campaign, figures = self._context.campaign, self._deps.figures
        figures.turn()
        figures.add((campaign.tenant, f"campaign:{campaign.name}", campaign.name), kind)

    async def _sent(self, rendered: RenderedMessage, tries: int) -> Outcome:
        context = self._context
        message = message_of(context.campaign.id, self._queue, rendered, tries=tries)
        try:
            outcome = await self._session.send(self._queue, message)
            if outcome.kind is Kind.delivered:
                return outcome
            queue, rules = self._queue, self._deps.rules
            key = lane_of(queue.name, queue.tenant)
            return await rules.apply(key, queue.lanes[0], message, outcome)
        except Shortage as error:
            return replace(lacking(error_text(error)), provider=ProviderAnswer("", "", "shortage"))
        except Exception as error:  # whatever it is, nobody is sent to twice
            self._deps.log.exception("a call failed unexpectedly", key=key_text(message.id))
            why = f"{type(error).__name__}: {error_text(error)}"
            return replace(unknown(why), provider=ProviderAnswer("", "", "broke"))

    def _after_call(self, row: Row, outcome: Outcome, tries: int) -> tuple[RowState, int]:
        """The state of a recipient after a call, and when it is tried again if its server has asked
        for that."""
        if outcome.temporary:
            now_ms = self._deps.clock.now_ms()
            due_ms = again_at_ms(row.deferred, outcome.after_ms, now_ms)
            return (RowState.unsent, due_ms) if due_ms else (RowState.failed, now_ms)
        again = outcome.kind is Kind.unknown and tries < self._context.channel.calls_max
        return RowState.unsent if again else ROW_STATES[outcome.kind], 0

    async def _wait(self, seconds: float) -> None:
        """Wait that long, or until a result is written or the sender is stopped."""
        self._recorder.changed.clear()
        if self._stopping:
            return
        timer = self._deps.clock.later(max(1, round(seconds * 1000)), self._recorder.changed.set)
        await self._recorder.changed.wait()
        timer.cancel()

    async def _changed(self) -> None:
        await self._wait(RETRY_S)

    async def _drain(self) -> None:
        while self._recorder.busy:
            self._recorder.changed.clear()
            await self._recorder.changed.wait()
        self._recorder.check()

    async def _let_go(self) -> None:
        try:
            await self._deps.store.release(self._deps.owner, self._context.job)
        except StoreError as error:  # its lease runs out, and nothing of it is in flight
            self._deps.log.warning(
                "could not release a job: it is free when its lease ends", error=str(error)
            )
