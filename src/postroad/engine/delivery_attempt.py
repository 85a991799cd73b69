"""DeliveryAttempt: one try of one message, from its preparation to its outcome. Read `run`."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from postroad.engine.attempt_effects import AttemptEffects
from postroad.engine.capacity import Capacity
from postroad.engine.deadlines import Deadlines
from postroad.engine.descriptor_backoff import DescriptorBackoff
from postroad.engine.engine_log import EngineLog
from postroad.engine.lane_pacing import LanePacing
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.sessions import Sessions
from postroad.model.entities import Message
from postroad.model.errors import BadKey, Shortage, StoreError
from postroad.model.hours import closed
from postroad.model.ids import to_text
from postroad.model.keyring import KeyRing
from postroad.model.outcome import STOPPED, Kind, Outcome, failed, later, unknown, unreachable
from postroad.model.private_headers import PACKED_MARK, opened
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.ports.transport import HearsCuts, Lingers, Prepares, Session

NOTE_RETRY_S: Final = 1.0
CANCELLED_ITSELF: Final = (
    "the handler's task was cancelled, and not by Postroad: use asyncio.timeout() in the handler, "
    "or the option timeout="
)


class AttemptDeps(Struct, frozen=True):
    """What all attempts of an engine use."""

    store: Store
    owner: int
    sessions: Sessions
    deadlines: Deadlines
    pacing: LanePacing
    capacity: Capacity
    backoff: DescriptorBackoff
    keys: KeyRing
    """Opens headers that are sealed."""
    log: Log
    events: EngineLog
    may_start: Callable[[float], bool]
    put: Callable[[LaneWorker, AttemptEffects], None]
    """Hands over to the recorder."""
    capacity_freed: Callable[[], None]
    """Called when a place is given back after the end of its attempt."""


class DeliveryAttempt:
    """Prepares a try where that is needed, sends it, and cuts it at its deadline."""

    __slots__ = (
        "_closed",
        "_deps",
        "_message",
        "_noted",
        "_queue",
        "_sent",
        "_session",
        "_slot_s",
        "_started_ms",
        "_worker",
    )

    def __init__(
        self, deps: AttemptDeps, worker: LaneWorker, message: Message, started_ms: int
    ) -> None:
        self._deps = deps
        self._worker = worker
        self._message = message
        self._sent = message
        """The message with its headers in clear; what is recorded is the stored one."""
        self._queue = queue = worker.cache.queue(message.queue).queue
        self._started_ms = started_ms
        self._closed = closed(queue.hours, message.headers, started_ms) if queue.hours else None
        """What becomes of it outside its allowed hours."""
        paced = queue.ledgers and self._closed is None
        self._slot_s = deps.pacing.take(worker, queue) if paced else None
        """When it may start; None where nothing limits it."""
        self._noted = worker.probation.active or queue.policy.at_most_once
        """Whether the start is written down before it is made."""
        self._session: Session | None = None
        """Set when it may have left."""

    async def run(self, task: "asyncio.Task[None]", started_s: float) -> Outcome | None:
        """Make the try; None when it did not take place."""
        deps = self._deps
        if self._closed is not None:
            return self._closed
        limit_s = self._queue.policy.timeout_ms / 1000
        deps.deadlines.start(task, limit_s, started_s, self._message.id)
        outcome: Outcome | None = None
        try:
            packed = self._message.headers
            if packed and PACKED_MARK in packed:  # 250 ns to look into no bytes
                self._sent = opened(self._message, self._queue, deps.keys)
            if not self._noted and self._slot_s is None:
                self._session = deps.sessions.get(self._worker.lane.id)
            if self._session is None:
                outcome = await self._prepare()
            if self._session is not None:
                outcome = await self._session.send(self._queue, self._sent)
        except asyncio.CancelledError as error:
            return await self._cut_short(task, error)
        except Shortage as error:
            outcome = deps.backoff.failed(self._worker, error)
        except Exception as error:  # noqa: BLE001 - whatever a transport raises is an outcome
            outcome = self._raised(error)
        # Cut in the last moment: it has ended all the same.
        outcome = self._unless_stopped(outcome) if deps.deadlines.end(task) else outcome
        if task.cancelling():
            await self._forget_cancels(task)
        return outcome

    # Before it is sent

    async def _prepare(self) -> Outcome | None:
        """Note the start, open the session, await the slot, where that is still to be done: then
        there is a session to send by. Otherwise answers what became of the try."""
        if self._noted and not await self._note():
            return None
        try:
            session, outcome = await self._open_session()
        except Exception as error:  # noqa: BLE001 - a server that cannot be reached
            lacks = Shortage.of(error)
            if lacks:
                return self._deps.backoff.failed(self._worker, lacks)
            return unreachable(f"no session: {error}")
        if outcome is not None:
            return outcome
        if await self._may_go():
            self._session = session
        else:
            await self._not_started()
        return None

    async def _note(self) -> bool:
        """Write down that it starts; False when it may not."""
        deps, lane = self._deps, self._worker.lane
        try:
            if await deps.store.mark(deps.owner, lane, [self._message.id]):
                return True
            self._abandon()  # the lane is not ours any more
        except StoreError as error:
            deps.log.store_failed("note a start", error)
            await self._not_started()
        return False

    async def _open_session(self) -> tuple[Session, Outcome | None]:
        lane, sessions = self._worker.lane, self._deps.sessions
        session = sessions.get(lane.id) or await sessions.open(lane.id, lane.key)
        if self._slot_s is not None and isinstance(session, Prepares):
            # What is prepared before a slot's time does not make the start late.
            return session, await session.prepare(self._queue, self._sent)
        return session, None

    async def _may_go(self) -> bool:
        """Await the slot. While the start was noted, the session opened or the slot awaited, the
        lease may have been lost, the message cancelled or expired, or its queue blocked."""
        deps, clock = self._deps, self._deps.store.clock
        if self._slot_s is not None and not await deps.pacing.on_time(self._slot_s):
            return False
        may_go = self._worker.may_go(self._message, clock.now_ms())
        return may_go and deps.may_start(clock.steady_s())

    async def _not_started(self) -> None:
        """Take back the note of a start: the message was not sent, and the note would keep it
        suspect."""
        store = self._deps.store
        while self._noted:
            try:
                await store.unmark([self._message.id])
                break
            except StoreError:
                await store.clock.sleep(NOTE_RETRY_S)
        self._abandon()

    def _abandon(self) -> None:
        begun = self._session is not None
        effects = self._worker.abandon(self._message, self._started_ms if begun else 0)
        if effects is not None:
            self._deps.put(self._worker, effects)

    # When it ends without an answer

    def _raised(self, error: Exception) -> Outcome:
        if self._session is not None:
            self._deps.events.transport_raised(self._worker.lane, error)
            return failed(f"{type(error).__name__}: {error}")
        if isinstance(error, BadKey):
            # Its own fault alone: neither its queue nor its lane is to wait for it.
            return failed(f"its headers cannot be opened: {error}", answered=False)
        raise error

    def _unless_stopped(self, outcome: Outcome | None) -> Outcome | None:
        """What a try came to that raised while it was stopped."""
        if outcome is None or outcome.kind is not Kind.failed:
            return outcome
        stopped = self._worker.open_messages.on_last_try(self._message.id)
        return later(STOPPED, after_ms=0) if stopped else outcome

    async def _cut_short(
        self, task: "asyncio.Task[None]", error: asyncio.CancelledError
    ) -> Outcome | None:
        """Return the outcome of a send whose task was cancelled, by whoever did it."""
        deadlines = self._deps.deadlines
        stopped = deadlines.was_stopped(task)
        if deadlines.end(task):
            return await self._stopped() if stopped else self._overdue()
        if deadlines.is_ending():
            await self._interrupted()
            raise error
        return await self._cancelled(task)

    async def _stopped(self) -> Outcome | None:
        """Return the outcome of a send whose message was cancelled meanwhile: it spends no level,
        and is not tried again."""
        if self._session is None:
            await self._not_started()
            return None
        self._linger(self._session)
        return later(STOPPED, after_ms=0)

    async def _cancelled(self, task: "asyncio.Task[None]") -> Outcome | None:
        """Return the outcome of a send whose task was cancelled by somebody else: by its handler,
        as a timeout of its own."""
        await self._forget_cancels(task)
        session = self._session
        if session is None:
            await self._not_started()
            return None
        self._linger(session)
        outcome = failed(CANCELLED_ITSELF)
        if isinstance(session, HearsCuts):
            session.cut(self._message, outcome)
        return outcome

    async def _forget_cancels(self, task: "asyncio.Task[None]") -> None:
        """Cancellations of this task by a handler are not for the messages that come after it."""
        with suppress(asyncio.CancelledError):  # one that has not come through yet
            await self._deps.store.clock.sleep(0)
        while task.cancelling():
            task.uncancel()

    def _overdue(self) -> Outcome:
        """Return the outcome of a send that was cut at its deadline."""
        policy, session = self._queue.policy, self._session
        limit_s = policy.timeout_ms / 1000
        if session is None:
            return unreachable(f"no session within {limit_s:g} s")
        self._linger(session)
        late = session.overdue(limit_s)
        late = unknown(f"cut after {limit_s:g} s") if policy.at_most_once else late
        if isinstance(session, HearsCuts):
            session.cut(self._message, late)
        return late

    async def _interrupted(self) -> None:
        """A stop cut this try: it spends no attempt, and is no lost lease."""
        if self._session is not None:
            self._linger(self._session)
            if self._queue.policy.at_most_once:
                self._deps.put(self._worker, self._worker.doubt(self._message))
                return
        await self._not_started()

    def _linger(self, session: Session) -> None:
        """What goes on after its try was cut keeps its place until it ends."""
        rest = session.remains(self._message.id) if isinstance(session, Lingers) else None
        if rest is None:
            return
        deps, key, level = self._deps, self._worker.lane.key, self._message.level
        capacity, clock = deps.capacity, deps.store.clock
        started_s = clock.steady_s()
        capacity.take(level, key.pool, key.tenant)
        name = to_text(self._message.id)
        deps.events.thread_goes_on(key.pool, taken=capacity.taken, message=name)

        def ended(_rest: "asyncio.Future[None]") -> None:
            capacity.give(level, key.pool, key.tenant)
            took_s = clock.steady_s() - started_s
            deps.events.thread_ended(key.pool, s=took_s, message=name)
            deps.capacity_freed()

        rest.add_done_callback(ended)
