"""Explanations of messages, queues and lanes: what happened, what holds them, what comes next."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from postroad.model.endpoint import DELETING, DISABLED, QUEUE_PREFIX
from postroad.model.entities import DEFAULT_TENANT, Queue
from postroad.model.errors import UnknownLane, UnknownMessage, UnknownQueue
from postroad.model.explain import (
    Explanation,
    LaneExplanation,
    QueueExplanation,
    explain,
    explain_lane,
    explain_queue,
)
from postroad.model.facts import (
    BY_HAND,
    COUNTED_MAX,
    LaneWindow,
    MessageFacts,
    Pause,
    QueueFacts,
    RunningTry,
)
from postroad.model.ids import to_number
from postroad.model.job_output import OutputKind
from postroad.model.next_step import BEING_DELETED, ENDPOINT, ROAD_HELD
from postroad.model.recipients import may_name
from postroad.ports.broker import HasBroker
from postroad.ports.clock import Clock
from postroad.ports.events import EventStore
from postroad.ports.job_outputs import JobOutputs
from postroad.ports.restoring import Restorable
from postroad.ports.store import Kept
from postroad.transports.job_progress import Progress
from postroad.verbs.bounding import bounded

WindowOf = Callable[[int], LaneWindow | None]
Facts = TypeVar("Facts", MessageFacts, QueueFacts)


@bounded
class Explainer:
    """Explains messages, queues and lanes. `sends` tells whether an engine of this process is
    trying a message now, `runs` whether there is one: a held road has none. `window` tells that of
    a lane which it serves."""

    def __init__(
        self,
        store: Kept,
        clock: Clock,
        sends: Callable[[int], bool],
        runs: Callable[[], bool],
        window: WindowOf,
    ) -> None:
        self._store = store
        self._clock = clock
        self._sends = sends
        self._runs = runs
        self._window = window

    async def explain(self, id: str, *, tenant: str | None = DEFAULT_TENANT) -> Explanation:  # noqa: A002
        """Explain a message."""
        number = to_number(id)
        facts = await self._store.message_facts(tenant, number)
        if facts is None:
            lies = ", or it is in the broker, where no worker has seen it yet"
            raise UnknownMessage(
                f"this road knows no message {id} of tenant {tenant!r}: it may have been "
                f"deleted for its age{lies if isinstance(self._store, HasBroker) else ''}"
            )
        facts = await self._with_pause(facts)
        if may_name(facts.queue.name):
            named = await self._store.recipients_of([number])
            reports = tuple(await self._store.reports_of(number))
            facts = replace(facts, recipient=named.get(number, ""), reports=reports)
        facts = replace(facts, running=await self._running(tenant, facts))
        sending = self._sends(number) or facts.running is not None
        return explain(facts, self._clock.now_ms(), sending=sending)

    async def _running(self, tenant: str | None, facts: MessageFacts) -> RunningTry | None:
        """How far the try that is under way, in whatever process, said that it has come."""
        store, live = self._store, facts.live
        is_job = facts.lane is not None and facts.lane.transport == "handler"
        if live is None or not is_job or not isinstance(store, JobOutputs):
            return None
        said = await store.output_of(tenant, facts.id, OutputKind.progress)
        come = None if said is None else msgspec.json.decode(said, type=Progress)
        if come is None or come.attempt <= live.attempts:  # the try that told so has ended
            return None
        return RunningTry(come.done, come.total, come.at_ms)

    async def explain_queue(self, queue: str, *, tenant: str = DEFAULT_TENANT) -> QueueExplanation:
        """Explain a queue."""
        facts = await self._store.queue_facts(tenant, queue, COUNTED_MAX)
        if facts is None:
            raise UnknownQueue(
                f"this road has no queue {queue!r} of tenant {tenant!r}: see `postroad queues`"
            )
        facts = await self._with_pause(facts)
        # A handler's lanes are its queue's alone.
        windows = [self._window(lane.id) for lane in facts.lanes if lane.transport == "handler"]
        sending = sum(window.in_flight for window in windows if window is not None)
        return explain_queue(facts, self._clock.now_ms(), sending=sending)

    async def _with_pause(self, facts: Facts) -> Facts:
        """Add why its queue sends nothing: a held road is like a pause of every queue."""
        store, held = self._store, None
        if not self._runs() and isinstance(store, Restorable):
            held = await store.restoration()
        if held is None or not held.held_at_ms:
            return replace(facts, pause=await self._pause(facts.queue))
        why = Pause(ROAD_HELD, f"road held: {held.reason}")
        queue = replace(facts.queue, paused=True)
        return replace(facts, queue=queue, paused_at_ms=held.held_at_ms, pause=why)

    async def _pause(self, queue: Queue) -> Pause:
        """Tell why a queue is paused: that of an endpoint is by the endpoint's own state."""
        store = self._store
        if not (
            queue.paused and queue.name.startswith(QUEUE_PREFIX) and isinstance(store, EventStore)
        ):
            return BY_HAND
        for entry in await store.endpoints_of([queue.id]):
            life = entry.row.life
            if life.state == DISABLED:
                why = f"endpoint disabled by {life.disabled_by}"
                return Pause(ENDPOINT, f"{why}: {life.reason}" if life.reason else why)
            if life.state == DELETING:
                return Pause(BEING_DELETED, "endpoint is being deleted")
        return BY_HAND

    async def explain_lane(
        self, lane: int, *, tenant: str | None = DEFAULT_TENANT
    ) -> LaneExplanation:
        """Explain a lane, by its number."""
        facts = await self._store.lane_facts(lane, COUNTED_MAX)
        if facts is None or tenant not in (None, facts.lane.tenant):
            whose = "" if tenant is None else f" of tenant {tenant!r}"
            raise UnknownLane(f"this road has no lane {lane}{whose}: see `postroad lanes`")
        return explain_lane(facts, self._clock.now_ms(), self._window(lane))
