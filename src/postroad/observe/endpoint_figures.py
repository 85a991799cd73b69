"""Counts what endpoints answer, in memory, until it is written with how their spells stand."""

import asyncio
from collections.abc import Iterable

from postroad.model.decide import Move
from postroad.model.endpoint_life import (
    DEAD,
    FAILURES,
    HOUR_MS,
    SETUP,
    TOOK,
    TOOK_BUCKETS,
    UNTIMED,
    WIDTH,
    EndpointHour,
)
from postroad.model.outcome import Kind
from postroad.model.record import Result
from postroad.observe.figures import PLACE

ENDPOINTS_MAX = 20_000
"""Endpoints that wait for a store that is away; counts of further ones are left out."""


class EndpointTally:
    """What one endpoint answered since it was last written."""

    __slots__ = ("counts", "error", "failed_at_ms", "failing_since_ms", "succeeded")

    def __init__(self) -> None:
        self.counts = [0] * WIDTH
        self.succeeded = False
        self.failing_since_ms = self.failed_at_ms = 0
        self.error = ""


class EndpointFigures:
    """What this process heard from endpoints. Plain queues are not counted here."""

    def __init__(self) -> None:
        self.queues: set[int] = set()
        """Queues of endpoints that this process has sent to."""
        self.work = asyncio.Event()
        self._tallies: dict[tuple[int, int], EndpointTally] = {}

    @property
    def counted(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._tallies)

    def add(self, results: Iterable[Result], now_ms: int) -> None:
        """Count the results of endpoints among these."""
        hour_ms = now_ms // HOUR_MS * HOUR_MS
        for result in results:
            if result.message.queue in self.queues and result.started_ms:
                self._add(result, hour_ms, now_ms)

    def _add(self, result: Result, hour_ms: int, now_ms: int) -> None:
        place = (result.message.queue, hour_ms)
        tally = self._tallies.get(place)
        if tally is None:
            if len(self._tallies) >= ENDPOINTS_MAX:
                return
            tally = self._tallies[place] = EndpointTally()
            self.work.set()
        ours = _is_held(result)
        tally.counts[SETUP if ours else PLACE[result.kind]] += 1
        tally.counts[DEAD] += result.move is Move.die
        if result.kind not in UNTIMED and not ours:
            tally.counts[TOOK + min(result.took_ms.bit_length(), TOOK_BUCKETS - 1)] += 1
        if result.kind is Kind.delivered:
            tally.succeeded, tally.failing_since_ms, tally.error = True, 0, ""
        elif result.kind in FAILURES and not ours:
            tally.failing_since_ms = tally.failing_since_ms or now_ms
            tally.failed_at_ms, tally.error = now_ms, result.error

    def taken(self) -> list[EndpointHour]:
        """Take all counts out, the oldest hour of an endpoint first."""
        tallies, self._tallies = self._tallies, {}
        self.work.clear()
        return [
            EndpointHour(
                *place,
                tuple(one.counts),
                one.succeeded,
                one.failing_since_ms,
                one.failed_at_ms,
                one.error,
            )
            for place, one in sorted(tallies.items(), key=lambda item: item[0])
        ]


def _is_held(result: Result) -> bool:
    """Whether nothing was sent, and not because of the endpoint: a quota that no server told."""
    return result.kind is Kind.quota and not result.status
