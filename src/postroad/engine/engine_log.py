"""Logs what the engine decides: circuits, held queues, deaths, lanes of lost workers. Never a line
for each of a thousand."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from postroad.engine.attempt_effects import AttemptEffects
from postroad.engine.lane_worker import LaneWorker
from postroad.model.block import Block, BlockKind
from postroad.model.decide import Move
from postroad.model.entities import DEFAULT_TENANT, Lane, Queue
from postroad.model.errors import StoreError
from postroad.model.ids import to_text
from postroad.model.record import WORKER_LOST, LostWorker, Record, Result
from postroad.model.states import DeadReason
from postroad.model.wording import duration_text, moment, public_name
from postroad.observe.gathering import EventGathering, FirstTimes, Tell
from postroad.observe.tasks import Tasks
from postroad.ports.log import Log
from postroad.ports.store import Store

Batch = list[tuple[LaneWorker, AttemptEffects]]
BACKLOG_MAX: Final = 10_000
"""How far the messages of a lane are counted for a line of the log."""
ERROR_MAX: Final = 200
DELIVER: Final = Move.deliver


def has_news(record: Record) -> bool:
    """Whether a record does more than deliver messages."""
    others = [one for one in record.results if one.move is not DELIVER]  # half of what any() takes
    return bool(others or record.queues or record.lanes)


class EngineLog:
    """Tells what results change, once they are recorded."""

    def __init__(self, store: Store, log: Log) -> None:
        self._store = store
        self.log = log
        self._gathering = EventGathering(store.clock)
        self._held = FirstTimes(store.clock)
        """Queues that their handlers hold: one may be held every second, for days."""
        self._tasks = Tasks(log)

    async def close(self) -> None:
        """Tell what was counted and not told yet."""
        await self._tasks.close()
        self._gathering.close()

    def recorded(self, batch: Batch) -> None:
        """Tell what some results changed."""
        for worker, effects in batch:
            result = effects.result
            if effects.lane is not None:
                self._circuit(worker.lane, effects)
            if effects.queue is not None:
                queue = worker.cache.queue(result.message.queue).queue
                self._block(queue, effects.old_block, effects.queue.block)
            if result.move in (Move.die, Move.hold, Move.doubt):
                self._ended(worker.cache.queue(result.message.queue).queue, result)

    def expired(self, count: int) -> None:
        """Tell of messages that a sweep found."""
        self._gathering.add(
            self.log.warning, "message died", {"reason": DeadReason.expired}, count=count
        )

    def workers_lost(self, workers: Iterable[LostWorker]) -> None:
        """Tell of workers that were not heard from, and whose lanes are free since."""
        for lost in workers:
            facts = {"host": lost.host, "pid": lost.pid, "lanes": lost.lanes}
            self._gathering.add(self.log.warning, WORKER_LOST, {}, facts.copy)

    def taken_over(self, lane: Lane) -> None:
        """Tell of a lane whose last owner was lost."""
        facts = partial(_lane_facts, lane, lost_leases=lane.crashes)
        event = "lane taken over from a lost worker"
        self._gathering.add(self.log.warning, event, {}, facts)

    def lost(self, lane: Lane) -> None:
        """Tell of a lane that another worker took from this one."""
        event = "lane was lost to another worker"
        self._gathering.add(self.log.warning, event, {}, partial(_lane_facts, lane))

    def transport_raised(self, lane: Lane, error: Exception) -> None:
        """Tell of a transport that raised instead of answering, with its trace."""
        alike = {"transport": lane.key.transport, "raised": type(error).__name__}
        facts = partial(dict[str, object], exc_info=error)
        self._gathering.add(self.log.error, "a transport raised", alike, facts, full=1)

    def thread_goes_on(self, pool: str, **facts: object) -> None:
        """Tell of a handler that was cut while its thread goes on."""
        event = "a handler was cut but its thread runs on and keeps its place"
        self._gathering.add(self.log.warning, event, {"pool": pool}, facts.copy)

    def thread_ended(self, pool: str, **facts: object) -> None:
        """Tell that such a thread has ended."""
        event = "the thread of a cut handler ended"
        self._gathering.add(self.log.warning, event, {"pool": pool}, facts.copy)

    def _circuit(self, lane: Lane, effects: AttemptEffects) -> None:
        change, old = effects.lane, effects.old_circuit
        if change is None or change.circuit.is_open == old.is_open:
            return  # a probe failed: it stays open
        if change.circuit.is_open:
            held = change.circuit.is_held
            more = {"until": moment(change.circuit.until_ms)} if held else {}
            facts = _lane_facts(lane, reason=change.circuit.reason[:ERROR_MAX], **more)
            event = "lane held by an answer rule" if held else "circuit opened"
            self._gathering.add(self._count_and_warn, event, {}, lambda: facts)
            return
        open_ms = self._store.clock.now_ms() - old.since_ms
        event, span = ("lane goes on", "held") if old.is_held else ("circuit closed", "away")
        facts = _lane_facts(lane, **{span: duration_text(open_ms)})
        self._gathering.add(self._count_and_inform, event, {}, lambda: facts)

    def _block(self, queue: Queue, old: Block | None, new: Block | None) -> None:
        if new is None:
            if old is not None and old.kind is not BlockKind.handler:
                held = duration_text(self._store.clock.now_ms() - old.since_ms)
                was = {"after": old.kind}
                facts = partial(_queue_facts, queue, held=held)
                self._gathering.add(self.log.info, "queue goes on", was, facts)
        elif old is not None and old.kind is new.kind:
            return  # others that were in flight were answered alike
        elif new.kind is BlockKind.handler and not self._held.is_first(queue.id):
            return  # it was told within the hour; the queue's own page says why it waits
        elif new.kind is BlockKind.disabled:
            facts = partial(_queue_facts, queue, reason=new.reason[:ERROR_MAX])
            self._gathering.add(self.log.warning, "queue disabled", {}, facts)
        else:
            until = {"until": moment(new.until_ms), "reason": new.reason[:ERROR_MAX]}
            facts = partial(_queue_facts, queue, **until)
            self._gathering.add(self.log.warning, "queue held", {"because": new.kind}, facts)

    def _ended(self, queue: Queue, result: Result) -> None:
        facts = partial(
            _queue_facts,
            queue,
            message=to_text(result.message.id),
            attempts=result.message.attempts + 1,
            error=result.error[:ERROR_MAX],
        )
        event, alike = ENDS[result.move], {"reason": result.reason} if result.reason else {}
        self._gathering.add(self.log.warning, event, alike, facts)

    def _count_and_warn(self, event: str, **facts: object) -> None:
        _ = self._tasks.start(self._counted(self.log.warning, event, facts), "log")  # kept there

    def _count_and_inform(self, event: str, **facts: object) -> None:
        _ = self._tasks.start(self._counted(self.log.info, event, facts), "log")  # kept there

    async def _counted(self, tell: Tell, event: str, facts: dict[str, object]) -> None:
        lane = facts.get("lane")
        if isinstance(lane, int):
            try:
                count = await self._store.lane_backlog(lane, BACKLOG_MAX)
                facts["waiting"] = count if count < BACKLOG_MAX else f"{BACKLOG_MAX} or more"
            except StoreError:
                pass  # told without
        tell(event, **facts)


ENDS: Final = {
    Move.die: "message died",
    Move.hold: "order group held: its head is exhausted",
    Move.doubt: "message is uncertain: settle it",
}


def _lane_facts(lane: Lane, **more: object) -> dict[str, object]:
    key = lane.key
    where = {"lane": lane.id, "transport": key.transport, "server": public_name(key.server)}
    return where | _tenant(key.tenant) | more


def _queue_facts(queue: Queue, **more: object) -> dict[str, object]:
    return {"queue": public_name(queue.name)} | _tenant(queue.tenant) | more


def _tenant(tenant: str) -> dict[str, object]:
    return {"tenant": tenant} if tenant != DEFAULT_TENANT else {}
