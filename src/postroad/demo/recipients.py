"""The demo's recipients: scripted HTTP servers that behave as their names say."""

import math
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from postroad.model.entities import hashed
from postroad.model.ladder import Exponential
from postroad.ports.clock import Clock

LADDER: Final = Exponential(retries=5, base_ms=15_000)
"""Shorter than the default one, whose last retry comes after nearly four hours."""
AWAY_S: Final = 450.0
BAD_DEPLOY_S: Final = (120.0, 240.0)
QUOTA_WINDOW_S: Final = 240.0


class DemoBody(Struct, frozen=True):
    """The body of a message: its number, from which the servers draw, so that runs are alike."""

    number: int


class Reply(Struct, frozen=True):
    """An HTTP answer."""

    status: int
    retry_after_s: int = 0


OK: Final = Reply(200)
Answer = Callable[[str, DemoBody], Awaitable[Reply]]


class Servers:
    """What each server answers: one method a server."""

    def __init__(self, clock: Clock, quota_messages: int) -> None:
        self._clock = clock
        self._quota_messages = quota_messages
        self.start_s = clock.steady_s()
        self._tries: Counter[int] = Counter()
        self._taken: defaultdict[str, list[float]] = defaultdict(list)

    def answers(self) -> dict[str, Answer]:
        """All of them, by host."""
        every = (self.good, self.slow, self.flaky, self.limited, self.away, self.closed)
        return {f"{answer.__name__}.example": answer for answer in every}

    async def good(self, _user: str, body: DemoBody) -> Reply:
        """Takes everything, at once."""
        await self._clock.sleep(0.2 + body.number % 5 / 10)
        return OK

    async def slow(self, _user: str, body: DemoBody) -> Reply:
        """Takes everything, after a minute or two: nobody else may wait for it."""
        await self._clock.sleep(60 + hashed(str(body.number), 60))
        return OK

    async def flaky(self, user: str, body: DemoBody) -> Reply:
        """Fails three times in ten, for two minutes always, and for one user for ever."""
        self._tries[body.number] += 1
        await self._clock.sleep(1)
        luck = hashed(f"{body.number} for the {self._tries[body.number]}th time", 100)
        bad_deploy = BAD_DEPLOY_S[0] < self._age_s() < BAD_DEPLOY_S[1]
        return Reply(500) if user == "never" or bad_deploy or luck < 30 else OK

    async def limited(self, user: str, _parcel: DemoBody) -> Reply:
        """Takes a few in four minutes for each user, then wants to be left alone for as long."""
        await self._clock.sleep(1)
        now_s = self._clock.steady_s()
        taken = self._taken[user] = [s for s in self._taken[user] if s > now_s - QUOTA_WINDOW_S]
        if len(taken) >= self._quota_messages:
            return Reply(429, math.ceil(QUOTA_WINDOW_S))
        taken.append(now_s)
        return OK

    async def away(self, _user: str, _parcel: DemoBody) -> Reply:
        """Does not listen in the first minutes (see `journey`)."""
        return OK

    async def closed(self, _user: str, _parcel: DemoBody) -> Reply:
        """Will never take anything: straight into the dead set."""
        await self._clock.sleep(0.5)
        return Reply(422)

    def _age_s(self) -> float:
        return self._clock.steady_s() - self.start_s
