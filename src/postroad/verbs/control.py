"""Controls: cancel and settle messages; pause, resume, unblock and limit queues and lanes."""

from collections.abc import AsyncIterator
from typing import Literal, Unpack

from postroad.model.control import Cancelled, CancelledAll, CancelState, MessageFilter
from postroad.model.durations import Duration, seconds_of
from postroad.model.endpoint import ENABLED, QUEUE_PREFIX, endpoint_number
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import (
    BadInput,
    Conflict,
    NotUncertain,
    UnknownLane,
    UnknownMessage,
)
from postroad.model.ids import to_number
from postroad.model.pace import make_limit
from postroad.model.wording import public_name
from postroad.observe.gathering import EventGathering
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.verbs.bounding import bounded
from postroad.verbs.cancel_rounds import CancelRounds
from postroad.verbs.cancelling import CancelAll, LastTries
from postroad.verbs.event_stores import event_store
from postroad.verbs.known_queues import check_queue, unknown_queue
from postroad.verbs.limits import LimitOptions

ASK_EVERY_S = 0.05
ASK_RUNNING_S = 0.4
"""The longest pause between two questions whether a stopped try has ended."""


@bounded
class Controls:
    """Controls by names instead of numbers. `last_tries` tells which of some messages an engine of
    this process, after it was asked to cancel them, is still trying."""

    def __init__(self, store: Store, last_tries: LastTries, log: Log) -> None:
        self._store = store
        self._log = log
        self._gathering = EventGathering(store.clock)
        self._last_tries = last_tries
        self._rounds = CancelRounds(store)

    async def cancel(
        self,
        id: str,  # noqa: A002 - the word that receipts use
        tenant: str,
        wait: Duration,
        running: bool = False,  # noqa: FBT001 - it is given by name
    ) -> Cancelled:
        """Cancel one message; wait up to `wait` seconds for the owner of its lane. With `running`
        its try is stopped, and its end awaited."""
        until_s = self._store.clock.steady_s() + _wait_s(wait)
        return Cancelled(id, await self._cancel(to_number(id), tenant, until_s, running=running))

    def cancelling(
        self, queue: str = "", order_key: str = "", *, tenant: str, wait: Duration
    ) -> AsyncIterator[CancelledAll]:
        """Cancel the unfinished messages of a queue or order key; counts them after each slice."""
        clock = self._store.clock
        if not queue and not order_key:  # nobody cancels everything by leaving something out
            raise BadInput("say which: a queue, an order_key, or both")
        which = MessageFilter(tenant, queue, order_key, clock.now_ms() + 1)
        work = CancelAll(self._store, which, self._last_tries, _wait_s(wait))
        return self._cancelling(queue, tenant, work)

    async def _cancelling(
        self, queue: str, tenant: str, work: CancelAll
    ) -> AsyncIterator[CancelledAll]:
        if queue:
            await check_queue(self._store, queue, tenant)
        async for step in work.steps():
            yield step

    async def _cancel(
        self, number: int, tenant: str, until_s: float, *, running: bool
    ) -> CancelState:
        clock, pause_s = self._store.clock, ASK_EVERY_S
        while True:
            state = await self._rounds.ask(tenant, number, running=running)
            if state is not CancelState.pending:
                return state
            late = clock.steady_s() >= until_s
            if (late or not running) and self._last_tries([number]):
                return CancelState.sending
            if late:
                return state
            await clock.sleep(pause_s)
            pause_s = min(2 * pause_s, ASK_RUNNING_S) if running else pause_s

    async def settle(
        self,
        id: str,  # noqa: A002 - the word that receipts use
        outcome: Literal["sent", "unsent"],
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> None:
        """Settle an uncertain message as `sent` or `unsent`."""
        if outcome not in ("sent", "unsent"):
            raise BadInput(f"{outcome!r}: a message is settled as 'sent' or as 'unsent'")
        if await self._store.settle(tenant, to_number(id), sent=outcome == "sent"):
            return
        facts = await self._store.message_facts(tenant, to_number(id))
        if facts is None:
            raise UnknownMessage(f"this road has no message {id} of tenant {tenant!r}")
        raise NotUncertain(f"{id} is not uncertain: nothing was changed; explain says what it is")

    async def pause(self, queue: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Pause a queue. Tries in flight end; new messages are accepted."""
        await self._store.pause_queue(await self._queue(queue, tenant), paused=True)
        self._tell("queue paused", queue, tenant)

    async def resume(self, queue: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Resume a paused queue. A disabled endpoint's is resumed by enabling the endpoint."""
        if queue.startswith(QUEUE_PREFIX):
            await self._check_enabled(queue, tenant)
        await self._store.pause_queue(await self._queue(queue, tenant), paused=False)
        self._tell("queue resumed", queue, tenant)

    async def _check_enabled(self, queue: str, tenant: str) -> None:
        name = queue.removeprefix(QUEUE_PREFIX)
        number = endpoint_number(name)
        found = await event_store(self._store).endpoint_page(tenant, number - 1, 1)
        life = found[0].row.life if found and found[0].row.id == number else None
        if life is not None and life.state != ENABLED:
            by = f" by {life.disabled_by}" if life.disabled_by else ""
            raise Conflict(f"{name} is {life.state}{by}: enable the endpoint instead")

    async def unblock(self, queue: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Lift a queue's block."""
        await self._store.unblock_queue(await self._queue(queue, tenant))
        self._tell("queue unblocked", queue, tenant)

    async def limit(
        self,
        what: str | int,
        rate: str | None,
        *,
        tenant: str = DEFAULT_TENANT,
        **options: Unpack[LimitOptions],
    ) -> None:
        """Limit the tries of a queue, or, given a lane's number, of all lanes with its
        credential."""
        if isinstance(what, int):
            await LaneControls(self._store, self._log).limit(what, rate, tenant=tenant, **options)
            return
        limit = make_limit(rate, **options)
        await self._store.limit_queue(await self._queue(what, tenant), limit)

    def _tell(self, event: str, queue: str, tenant: str) -> None:
        facts = {"queue": public_name(queue), "tenant": tenant}
        self._gathering.add(self._log.info, event, {}, facts.copy)

    async def _queue(self, name: str, tenant: str) -> int:
        queue = await self._store.find_queue(tenant, name)
        if queue is None:
            raise await unknown_queue(self._store, name, tenant)
        return queue.id


def _wait_s(wait: Duration) -> float:
    seconds = seconds_of(wait)
    if not seconds >= 0:  # forever is a time, too
        raise BadInput(f"wait={wait!r}: give seconds or a timedelta, not a negative one")
    return seconds


@bounded
class LaneControls:
    """Pause, resume, unblock and limit whole lanes, by their number."""

    def __init__(self, store: Store, log: Log) -> None:
        self._store = store
        self._log = log
        self._gathering = EventGathering(store.clock)

    async def pause(self, lane: int, *, tenant: str | None = DEFAULT_TENANT) -> None:
        """Pause all queues of a lane."""
        await self._store.pause_lane(await self._known(lane, tenant), paused=True)
        self._tell("lane paused", lane)

    async def resume(self, lane: int, *, tenant: str | None = DEFAULT_TENANT) -> None:
        """Resume a paused lane."""
        await self._store.pause_lane(await self._known(lane, tenant), paused=False)
        self._tell("lane resumed", lane)

    async def unblock(self, lane: int, *, tenant: str | None = DEFAULT_TENANT) -> None:
        """Close a lane's open circuit."""
        await self._store.unblock_lane(await self._known(lane, tenant))
        self._tell("circuit closed by hand", lane)

    async def limit(
        self,
        lane: int,
        rate: str | None,
        *,
        tenant: str | None = DEFAULT_TENANT,
        **options: Unpack[LimitOptions],
    ) -> None:
        """Limit the tries of all lanes that share the credential of this one; None, without hours,
        lifts the limit."""
        limit = make_limit(rate, **options)
        if not await self._store.limit_lane(await self._known(lane, tenant), limit):
            raise UnknownLane(f"this road has no lane {lane} any more")

    def _tell(self, event: str, lane: int) -> None:
        self._gathering.add(self._log.info, event, {}, {"lane": lane}.copy)

    async def _known(self, lane: int, tenant: str | None) -> int:
        facts = await self._store.lane_facts(lane)
        if facts is None or tenant not in (None, facts.lane.tenant):
            raise UnknownLane(f"this road has no lane {lane} of tenant {tenant!r}")
        return lane
