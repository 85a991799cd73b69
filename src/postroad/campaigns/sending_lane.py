"""One lane of a sender: recipients that are ahead of it, and calls under way. It reserves slots,
stores its intents, calls, records."""

import asyncio
from collections import deque
from itertools import islice
from typing import Final

from msgspec.structs import replace

from postroad.campaigns.estimate import too_long
from postroad.campaigns.job_run import RETRY_S, WINDOW, JobRun, OpenedChannel
from postroad.campaigns.lane_block import LaneBlock
from postroad.campaigns.redacting import CampaignRedaction
from postroad.campaigns.rendering import RenderedMessage, message_of
from postroad.model.campaign import ROW_STATES, CallResult, Row, RowState, again_at_ms
from postroad.model.errors import Shortage, StoreError
from postroad.model.foreign import clean, error_text
from postroad.model.ids import key_text
from postroad.model.outcome import Kind, Outcome, ProviderAnswer, failed, lacking, unknown
from postroad.model.recipients import lane_of
from postroad.ports.transport import Prepares

INTENTS_A_SESSION: Final = 2
"""Where a lane has only so many sessions: one call is on the wire, the intent of the next is
stored. A process that is killed leaves so many uncertain."""
BLOCK: Final = 128
"""Maximum intents in one commit where nothing limits the rate."""
LOOK_S: Final = 1.0
"""How often a lane reads its queue again while it has something to send."""
ERROR_CHARACTERS_MAX: Final = 500
"""Maximum length of an error that is kept with its recipient: ten million may fail."""
TURN: Final = "queue recipients"


class SendingLane:
    """Sends what is ahead of it, at the pace of its lane."""

    def __init__(self, run: JobRun, opened: OpenedChannel, block: LaneBlock) -> None:
        self._run = run
        self._deps = run.deps
        self._session = opened.session
        self._hiding = CampaignRedaction(run.deps.redaction, run.context.campaign)
        self._window = INTENTS_A_SESSION * opened.sessions or WINDOW
        self._wire = asyncio.Semaphore(opened.sessions or WINDOW)
        self._look_s = run.deps.clock.steady_s()
        self._rows: deque[Row] = deque()
        self._rendered: deque[RenderedMessage] = deque()
        self._in_flight = 0
        """Calls whose results are not written yet."""
        self._serving = False
        self._changed = asyncio.Event()
        self.queue = opened.queue
        self.block = block
        self.missed_n = 0
        """The first recipient of this lane that was left in the queue, or came back to it."""

    @property
    def ahead(self) -> int:
        """Recipients that it has and that are not begun."""
        return len(self._rows) + len(self._rendered)

    @property
    def working(self) -> bool:
        """Whether it is about to send something."""
        return self._serving

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do, and nothing is left in the queue for it."""
        return not (self.working or self._in_flight or self.missed_n)

    @property
    def left_s(self) -> float:
        """Seconds until it may send."""
        run_s = (self._run.blocked_until_ms - self._deps.clock.now_ms()) / 1000
        return max(self.block.left_s, run_s, 0)

    @property
    def _away(self) -> bool:
        """Whether its site has been away for long, and is not tried now."""
        return self.block.away_long and self.block.left_s > 0

    @property
    def _must_wait(self) -> bool:
        """Whether what was begun may not be sent now: the lane is blocked, or its circuit has
        opened meanwhile, and only a call that is alone may try it."""
        return self.left_s > 0 or (self.block.circuit_open and self._in_flight > 1)

    def add(self, row: Row) -> None:
        """Take a recipient."""
        self._run.ahead.add(row.n)
        self._rows.append(row)
        if not self._serving:
            self._serving = True
            _ = self._run.lanes.start(self._serve(), "campaign lane")  # kept there

    def missed(self, n: int) -> None:
        """A recipient of this lane is left in the queue for now."""
        self.missed_n = min(self.missed_n or n, n)

    def passed(self, after: int, last: int, end: int) -> None:
        """The queue was read from a place to another: those who were missed come later, up to where
        it was read before."""
        if after < self.missed_n <= last:
            self.missed_n = last + 1 if last < end else 0

    def wake(self) -> None:
        """The sender stops, or hears of a block."""
        self._changed.set()

    async def close(self) -> None:
        """Close its session."""
        await self._session.close()

    async def _serve(self) -> None:
        run = self._run
        try:
            while self.ahead and not run.stopping and not run.refused:
                await self._tried()
        finally:
            self._serving = False
            run.recorder.changed.set()

    async def _tried(self) -> None:
        try:
            await self._turn()
        except StoreError as error:
            self._deps.log.store_failed(TURN, error)
            await self._deps.clock.sleep(RETRY_S)
        else:
            self._deps.log.store_works(TURN)

    async def _turn(self) -> None:
        """Begin one block of calls."""
        self._run.recorder.check()
        if self.block.refused:
            self._run.refuse(self.block.refused)
            return
        await self.look()
        blocked = self.left_s > 0  # for the whole turn: the block may end in the middle of it
        if blocked and not self._away:
            await self._wait(min(self.left_s, RETRY_S))
            return
        self._put_off()
        free = self._free(blocked=blocked)
        if free <= 0:
            await self._wait(RETRY_S)
        elif self._render(min(free, BLOCK)) and (blocked or await self._prepared()):
            await self._begin(free, blocked=blocked)

    async def look(self) -> None:
        """Read the queue again: limits and hours may be put while it is sent to, and it may be
        paused, blocked, or its lane's circuit open."""
        now_s, deps, queue = self._deps.clock.steady_s(), self._deps, self.queue
        if now_s < self._look_s:
            return
        self._look_s = now_s + LOOK_S
        self.queue = await deps.road.find_queue(queue.tenant, queue.name) or queue
        if self.queue.hours != queue.hours:
            self._run.hours.look_again()
        until_ms, circuit_open = await deps.store.held_until(queue.id, queue.lanes[0])
        self.block.hear(until_ms, circuit_open=circuit_open)

    def _free(self, *, blocked: bool) -> int:
        """How many calls may begin. While the circuit is open it is one at a time."""
        if self.block.circuit_open and not blocked:
            return 1 - self._in_flight
        return min(self._window - self._in_flight, WINDOW - self._run.recorder.in_flight)

    def _put_off(self) -> None:
        """Leave those in the queue whose hours have ended since they were read."""
        if not self.queue.hours:
            return
        run, now_ms, hours = self._run, self._deps.clock.now_ms(), self.queue.hours
        rows = [*(one.row for one in self._rendered), *self._rows]
        kept = [row for row in rows if run.may_go(row, hours, now_ms)]
        if len(kept) < len(rows):
            run.ahead -= {row.n for row in rows} - {row.n for row in kept}
            self._rows, self._rendered = deque(kept), deque()

    def _render(self, count: int) -> bool:
        """Render the next messages; False when there are none."""
        render = self._run.renderer.render_or_problem
        while self._rows and len(self._rendered) < count:
            self._rendered.append(render(self._rows.popleft()))
        return bool(self._rendered)

    async def _prepared(self) -> bool:
        """Prepare what takes time before slots are reserved, so that calls start on time. False
        when nobody can be sent to now; what is about one recipient, its call will find."""
        session, queue, first = self._session, self.queue, self._rendered[0]
        if first.problem or not isinstance(session, Prepares):
            return True
        campaign = self._run.context.campaign.id
        outcome = await session.prepare(queue, message_of(campaign, queue, first))
        if outcome is None or ROW_STATES[outcome.kind] is not RowState.unsent:
            return True
        await self._note(outcome)
        return False

    async def _begin(self, free: int, *, blocked: bool) -> None:
        """Reserve slots, then store intents, then start the calls. Those of a site that has been
        away for long are begun only to be put off: they have no slots."""
        run, context = self._run, self._run.context
        cost = self._rendered[0].cost
        wanted = self._alike(cost, min(free, BLOCK))
        slots: tuple[float | None, ...] = (None,) * wanted
        most = context.credential.spec.segments_max
        if self.queue.ledgers and cost <= most and not blocked:
            name = f"campaign {context.campaign.id}"
            block = await self._deps.pace.block(self.queue.ledgers, name, wanted, cost)
            slots = block.slots_s
            if not slots:
                again_s = block.again_s - self._deps.clock.steady_s()
                await self._wait(min(max(again_s, 0.002), RETRY_S))
                return
        noted = await run.intend([one.row.n for one in islice(self._rendered, len(slots))])
        for slot in slots:
            message = self._rendered.popleft()
            n = message.row.n
            if n in noted.tries:
                self._in_flight += 1
                run.recorder.in_flight += 1
                if blocked:
                    self._put_back(message.row, noted.tries[n])
                else:
                    self._start(message, noted.tries[n], slot)
                continue
            run.ahead.discard(n)
            if n in noted.suppressed:  # since they were read
                run.keep_back(message.row, noted.suppressed[n])
        if not noted.tries and not noted.suppressed:  # stopped, or another owner's
            run.stop()

    def _alike(self, cost: int, most: int) -> int:
        """How many of the next messages cost the same."""
        count = 0
        for message in self._rendered:
            if message.cost != cost or count == most:
                break
            count += 1
        return count

    def _start(self, message: RenderedMessage, tries: int, slot_s: float | None) -> None:
        # The tasks keep it; an error in it ends the job and the process.
        _ = self._run.tasks.start(self._call(message, tries, slot_s), "campaign call")

    async def _call(self, message: RenderedMessage, tries: int, slot_s: float | None) -> None:
        # Here, not in the session: what waits for its turn when the sender is stopped goes back.
        async with self._wire:
            await self._call_now(message, tries, slot_s)

    async def _call_now(self, message: RenderedMessage, tries: int, slot_s: float | None) -> None:
        row, clock = message.row, self._deps.clock
        if slot_s is not None and not await self._deps.pace.on_time(slot_s):
            self._put_back(row, tries)
            return
        if self._run.stopping or self._run.refused or self.block.refused or self._must_wait:
            self._put_back(row, tries)
            return
        started_ms = clock.now_ms()
        outcome = self._unsendable(message) or await self._sent(message, tries)
        outcome = self._hiding.outcome(row, outcome)
        self._count(outcome)
        said = outcome.provider
        error = clean(outcome.error, ERROR_CHARACTERS_MAX)
        texts = (said.id, said.code, said.sub_type, error)
        state, due_ms = self._after_call(row, outcome, tries)
        times = (started_ms, clock.now_ms(), due_ms)
        self._record(CallResult(row.n, tries, state, *texts, *times))
        await self._note(outcome)

    def _put_back(self, row: Row, tries: int) -> None:
        """Record that no call was made. If the site has been away for long it is as if it had said
        "later", so that the campaign comes to an end."""
        state, due_ms, error = RowState.unsent, 0, ""
        if self._away and not self._run.stopping:
            state, due_ms = self._later(row, 0)
            error = "its server has been away for long"
        times = (0, 0, due_ms)
        self._record(CallResult(row.n, tries, state, "", "", "", error, *times))

    def _record(self, result: CallResult) -> None:
        if result.state is RowState.unsent and result.due_ms:
            self._run.hours.defer(result.due_ms)
        self._run.recorder.add(result, self._written)

    def _written(self, result: CallResult) -> None:
        self._in_flight -= 1
        self._run.ahead.discard(result.n)
        if result.state is RowState.unsent and not result.due_ms:
            self.missed(result.n)
        self._changed.set()

    async def _note(self, outcome: Outcome) -> None:
        try:
            await self.block.note(outcome)
        except StoreError as error:
            self._deps.log.warning("could not store the block of a lane", error=str(error))

    def _unsendable(self, message: RenderedMessage) -> Outcome | None:
        """The outcome of a message that cannot be sent as it is."""
        why, sub_type = message.problem, "bad_text"
        if not why:
            why = too_long(message.cost, self._run.context.credential.spec.segments_max)
            sub_type = "too_many_segments"
        return replace(failed(why), provider=ProviderAnswer("", "", sub_type)) if why else None

    def _count(self, outcome: Outcome) -> None:
        """Count a call. It has no lateness: recipients of a campaign are due one after another."""
        campaign, figures = self._run.context.campaign, self._deps.figures
        figures.turn()
        name = (campaign.tenant, f"campaign:{campaign.name}", campaign.name)
        figures.add(name, outcome.kind)
        if outcome.lacks_setup:
            figures.add_setup(name, 1)

    async def _sent(self, rendered: RenderedMessage, tries: int) -> Outcome:
        campaign, queue = self._run.context.campaign.id, self.queue
        message = message_of(campaign, queue, rendered, tries=tries)
        try:
            outcome = await self._session.send(queue, message)
            if outcome.kind is Kind.delivered:
                return outcome
            key = lane_of(queue.name, queue.tenant)
            return await self._deps.rules.apply(key, queue.lanes[0], message, outcome)
        except Shortage as error:
            return replace(lacking(error_text(error)), provider=ProviderAnswer("", "", "shortage"))
        except Exception as error:  # whatever it is, nobody is sent to twice
            self._deps.log.exception("a call failed unexpectedly", key=key_text(message.id))
            why = f"{type(error).__name__}: {error_text(error)}"
            return replace(unknown(why), provider=ProviderAnswer("", "", "broke"))

    def _after_call(self, row: Row, outcome: Outcome, tries: int) -> tuple[RowState, int]:
        """The state of a recipient after a call, and when it is tried again if its server has asked
        for that, or has been away for long."""
        away = outcome.kind is Kind.unreachable and self.block.away_long
        if outcome.temporary or away:
            return self._later(row, outcome.after_ms)
        calls_max = self._run.context.opened.channel.calls_max
        again = outcome.kind is Kind.unknown and tries < calls_max
        return RowState.unsent if again else ROW_STATES[outcome.kind], 0

    def _later(self, row: Row, after_ms: int) -> tuple[RowState, int]:
        now_ms = self._deps.clock.now_ms()
        due_ms = again_at_ms(row.deferred, after_ms, now_ms)
        return (RowState.unsent, due_ms) if due_ms else (RowState.failed, now_ms)

    async def _wait(self, seconds: float) -> None:
        """Wait that long, or until a result is written or the sender is stopped."""
        self._changed.clear()
        if self._run.stopping:
            return
        timer = self._deps.clock.later(max(1, round(seconds * 1000)), self._changed.set)
        await self._changed.wait()
        timer.cancel()
