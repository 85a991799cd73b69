"""Scripted receivers: recipients that answer as told and record what they received."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.ladder import Steps
from postroad.model.outcome import (
    DELIVERED,
    Outcome,
    failed,
    quota,
    rejected,
    unknown,
    unreachable,
)

QUICK = Policy(
    ladder=Steps(retries=4, delays_ms=(1_000, 5_000, 20_000, 60_000)),
    timeout_ms=20_000,
    skip_exhausted=True,
)
"""A policy whose retries take minutes."""


class ReceivedTry(Struct, frozen=True):
    """One try as the receiver saw it. `handled`: it took the message, whatever it answered."""

    message: int
    queue: str
    lane: str
    started_ms: int
    ended_ms: int
    handled: bool
    kind: str
    after_ms: int
    level: int
    body: bytes


class Behaviour(Protocol):
    """How a recipient answers a try."""

    def __call__(self, now_ms: int, draw: float) -> tuple[float, bool, Outcome]:
        """Returns the seconds it takes, whether it takes the message, and the outcome."""


def good(seconds: float = 0.01) -> Behaviour:
    """Takes everything."""
    return lambda _now_ms, _draw: (seconds, True, DELIVERED)


def flaky(share: float, seconds: float = 0.02) -> Behaviour:
    """Refuses a share of the tries."""
    return lambda _now_ms, draw: (
        (seconds, False, failed("500")) if draw < share else (seconds, True, DELIVERED)
    )


def doubtful(share: float) -> Behaviour:
    """Takes everything, but the answer is lost for a share of the tries."""
    return lambda _now_ms, draw: (0.05, True, unknown("reset") if draw < share else DELIVERED)


def rejecting(share: float) -> Behaviour:
    """Rejects a share of the messages for good."""
    return lambda _now_ms, draw: (
        (0.01, False, rejected("410")) if draw < share else (0.01, True, DELIVERED)
    )


def away_until(back_ms: int) -> Behaviour:
    """Cannot be reached until a time."""
    return lambda now_ms, _draw: (
        (0.01, False, unreachable("refused")) if now_ms < back_ms else (0.01, True, DELIVERED)
    )


def quota_until(open_ms: int, after_ms: int = 0) -> Behaviour:
    """Is over its quota until a time."""
    return lambda now_ms, _draw: (
        (0.01, False, quota("429", after_ms=after_ms))
        if now_ms < open_ms
        else (0.01, True, DELIVERED)
    )


class Receivers:
    """A transport to scripted recipients: `sim://server/recipient`. One server is one lane."""

    name = "sim"
    shards = 1

    def __init__(
        self,
        clock_ms: Callable[[], int],
        draw: Callable[[], float],
        behaviours: dict[str, Behaviour] | None = None,
        policy: Policy = QUICK,
    ) -> None:
        self._clock_ms = clock_ms
        self._draw = draw
        self._policy = policy
        self.behaviours = behaviours if behaviours is not None else {}
        """By message (`#ID`), by queue name, or by server."""
        self.book: list[ReceivedTry] = []
        self.on_start: Callable[[str, int], None] = lambda _server, _message: None
        self.on_receipt: Callable[[ReceivedTry], None] = self.book.append

    def address(self, queue: str, tenant: str) -> LaneKey:
        """The server's lane."""
        return LaneKey(self.name, queue.split("/")[2], tenant=tenant)

    def policy(self, queue: str) -> Policy:
        """The same for all; recipients named `once` want no second try after doubt."""
        return replace(self._policy, at_most_once=queue.endswith("/once"))

    def pools(self) -> list[str]:
        """Any process serves any server."""
        return [self.name]

    def concurrency(self, pool: str) -> int:  # noqa: ARG002
        """No own limit."""
        return 0

    async def open(self, lane: LaneKey) -> "ReceiverSession":
        """A session to one server."""
        return ReceiverSession(self, lane.server)

    async def handle(self, server: str, queue: Queue, message: Message) -> Outcome:
        """One try at a recipient."""
        started_ms = self._clock_ms()
        name = queue.name
        if (own := f"#{message.id}") in self.behaviours:  # some tests answer for every name
            name = own
        behaviour = self.behaviours.get(name) or self.behaviours.get(server) or good()
        seconds, handled, outcome = behaviour(started_ms, self._draw())
        self.on_start(server, message.id)
        await asyncio.sleep(seconds)  # also when it is 0: whoever crashed at the start stays here
        self.on_receipt(
            ReceivedTry(
                message=message.id,
                queue=queue.name,
                lane=server,
                started_ms=started_ms,
                ended_ms=self._clock_ms(),
                handled=handled,
                kind=outcome.kind,
                after_ms=outcome.after_ms,
                level=message.level,
                body=message.body,
            )
        )
        return outcome


class ReceiverSession:
    """A session to one scripted server."""

    def __init__(self, receivers: Receivers, server: str) -> None:
        self._receivers = receivers
        self._server = server

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """One try."""
        return await self._receivers.handle(self._server, queue, message)

    def overdue(self, seconds: float) -> Outcome:
        """The outcome of a try that was cut: unknown."""
        return unknown(f"no answer within {seconds:g} s")

    async def close(self) -> None:
        """Nothing to give back."""
