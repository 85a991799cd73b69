"""Counts and traces tries: a transport around another one."""

import asyncio

from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.errors import Shortage
from postroad.model.outcome import Outcome, lacking
from postroad.observe import tracing
from postroad.observe.metrics import Meter
from postroad.ports.clock import Clock
from postroad.ports.transport import HearsCuts, Lingers, Prepares, Session, Stops, Transport


def watched(
    transports: dict[str, Transport], meter: Meter | None, clock: Clock
) -> dict[str, Transport]:
    """The transports, counted if there is a meter and traced if the program has set up tracing."""
    if meter is None and not tracing.active():
        return transports
    meter = meter or Meter()
    return {name: WatchedTransport(inner, meter, clock) for name, inner in transports.items()}


class WatchedTransport:
    """Wraps a transport, and counts and traces its tries."""

    def __init__(self, inner: Transport, meter: Meter, clock: Clock) -> None:
        self.name, self.shards = inner.name, inner.shards
        self._inner = inner
        self._meter = meter
        self._clock = clock

    def address(self, queue: str, tenant: str) -> LaneKey:
        """Return the lane that serves this queue."""
        return self._inner.address(queue, tenant)

    def policy(self, queue: str) -> Policy:
        """Return the policy of a queue that is made on first use."""
        return self._inner.policy(queue)

    def pools(self) -> list[str]:
        """Return the pools that this process can serve."""
        return self._inner.pools()

    def concurrency(self, pool: str) -> int:
        """How many tries of a pool may be in flight in this process."""
        return self._inner.concurrency(pool)

    async def open(self, lane: LaneKey) -> Session:
        """Open a session, and wrap it."""
        session = await self._inner.open(lane)
        kind = LingeringSession if isinstance(session, Lingers) else WatchedSession
        return kind(session, self.name, self._meter, self._clock)


class WatchedSession:
    """Wraps a session, and counts and traces its tries."""

    def __init__(self, inner: Session, name: str, meter: Meter, clock: Clock) -> None:
        self._inner = inner
        self._name = name
        self._meter = meter
        self._clock = clock

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """Make one try."""
        start_s = self._clock.steady_s()
        try:
            if tracing.active():
                outcome = await self._traced(queue, message)
            else:
                outcome = await self._inner.send(queue, message)
        except Shortage as error:
            self._tried(message, lacking(str(error)), start_s)
            raise
        self._tried(message, outcome, start_s)
        return outcome

    def stop(self, number: int) -> bool:
        """Stop the try of a message that is cancelled, where that can be done."""
        return isinstance(self._inner, Stops) and self._inner.stop(number)

    async def prepare(self, queue: Queue, message: Message) -> Outcome | None:
        """Prepare what a try would have to wait for."""
        if not isinstance(self._inner, Prepares):
            return None
        start_s = self._clock.steady_s()
        outcome = await self._inner.prepare(queue, message)
        if outcome is not None:
            self._tried(message, outcome, start_s)
        return outcome

    def _tried(self, message: Message, outcome: Outcome, start_s: float) -> None:
        took_s = self._clock.steady_s() - start_s
        self._meter.tried(self._name, message.level, outcome, took_s)

    async def _traced(self, queue: Queue, message: Message) -> Outcome:
        from postroad.observe import traces

        with traces.trying(self._name, message) as span:
            outcome = await self._inner.send(queue, message)
            traces.ended(span, outcome)
        return outcome

    def overdue(self, seconds: float) -> Outcome:
        """Return the outcome of a try that was cut after so long."""
        return self._inner.overdue(seconds)

    def cut(self, message: Message, outcome: Outcome) -> None:
        """Count a try that was cut at its deadline."""
        self._meter.cut(self._name, message.level, outcome)
        if isinstance(self._inner, HearsCuts):
            self._inner.cut(message, outcome)

    async def close(self) -> None:
        """Close the session."""
        await self._inner.close()


class LingeringSession(WatchedSession):
    """Wraps a session whose tries may go on after they were cut."""

    def remains(self, number: int) -> "asyncio.Future[None] | None":
        """Return what still runs of a message's try that was just cut."""
        return self._inner.remains(number) if isinstance(self._inner, Lingers) else None
