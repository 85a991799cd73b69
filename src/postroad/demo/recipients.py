"""The demo's recipients: scripted servers in this process, behind a transport of their own."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.model.ladder import Exponential
from postroad.model.outcome import (
    DELIVERED,
    Outcome,
    failed,
    quota,
    rejected,
    unknown,
    unreachable,
)
from postroad.model.words import LaneKey, Message, Policy, Queue, hashed
from postroad.ports.clock import Clock

LADDER: Final = Exponential(retries=5, base_ms=15_000)
"""Shorter than the default one, whose last retry comes after nearly four hours."""
AWAY_S: Final = 450.0
BAD_DEPLOY_S: Final = (120.0, 240.0)
QUOTA_WINDOW_S: Final = 240.0

Answer = Callable[[str, "Parcel"], Awaitable[Outcome]]


class Parcel(Struct, frozen=True):
    """What the demo sends: its number, on which the script depends, so that runs are alike."""

    number: int


class Servers:
    """What each server answers: one method a server, named as the first word of its name."""

    def __init__(self, clock: Clock, quota_messages: int) -> None:
        self._clock = clock
        self._quota_messages = quota_messages
        self._start_s = clock.steady_s()
        self._tries: Counter[int] = Counter()
        self._taken: defaultdict[str, list[float]] = defaultdict(list)

    async def good(self, _user: str, parcel: Parcel) -> Outcome:
        """Takes everything, at once."""
        await self._clock.sleep(0.2 + parcel.number % 5 / 10)
        return DELIVERED

    async def slow(self, _user: str, parcel: Parcel) -> Outcome:
        """Takes everything, after a minute or two: nobody else may wait for it."""
        await self._clock.sleep(60 + hashed(str(parcel.number), 60))
        return DELIVERED

    async def flaky(self, user: str, parcel: Parcel) -> Outcome:
        """Fails three times in ten, for two minutes always, and for one user for ever."""
        self._tries[parcel.number] += 1
        await self._clock.sleep(1)
        luck = hashed(f"{parcel.number} for the {self._tries[parcel.number]}th time", 100)
        bad_deploy = BAD_DEPLOY_S[0] < self._age_s() < BAD_DEPLOY_S[1]
        if user == "never" or bad_deploy or luck < 30:
            return failed("500 Internal Server Error", status=500)
        return DELIVERED

    async def limited(self, user: str, _parcel: Parcel) -> Outcome:
        """Takes a few in four minutes for each user, then answers 429 with Retry-After."""
        await self._clock.sleep(1)
        now_s = self._clock.steady_s()
        taken = self._taken[user] = [s for s in self._taken[user] if s > now_s - QUOTA_WINDOW_S]
        if len(taken) >= self._quota_messages:
            after_s = taken[0] + QUOTA_WINDOW_S - now_s
            return quota("429 Too Many Requests", after_ms=int(after_s * 1000), status=429)
        taken.append(now_s)
        return DELIVERED

    async def away(self, _user: str, _parcel: Parcel) -> Outcome:
        """Is not there in the first minutes."""
        await self._clock.sleep(0.5)
        if self._age_s() < AWAY_S:
            return unreachable("connection refused")
        return DELIVERED

    async def closed(self, user: str, _parcel: Parcel) -> Outcome:
        """Will never take anything: straight into the dead set."""
        await self._clock.sleep(0.5)
        return rejected(f"422 no such user: {user}", status=422)

    def _age_s(self) -> float:
        return self._clock.steady_s() - self._start_s


class DemoTransport:
    """Carries to `demo://server.example/user`; all users of a server share its lane."""

    name = "demo"
    shards = 1

    def __init__(self, clock: Clock, quota_messages: int) -> None:
        servers = Servers(clock, quota_messages)
        self._answers: dict[str, Answer] = {
            f"{answer.__name__}.example": answer
            for answer in (
                servers.good,
                servers.slow,
                servers.flaky,
                servers.limited,
                servers.away,
                servers.closed,
            )
        }

    def address(self, queue: str, tenant: str) -> LaneKey:
        """The lane is the server."""
        server, _, user = queue.removeprefix("demo://").partition("/")
        if server not in self._answers or not user:
            known = ", ".join(self._answers)
            raise BadInput(f"{queue!r}: give demo://SERVER/USER, the servers are {known}")
        return LaneKey(self.name, server, tenant=tenant)

    def policy(self, _queue: str) -> Policy:
        """The short ladder, and patience with slow servers."""
        return Policy(ladder=LADDER, timeout_ms=180_000)

    def pools(self) -> list[str]:
        """Any process with this transport can serve its lanes."""
        return [self.name]

    def concurrency(self, _pool: str) -> int:
        """No own limit."""
        return 0

    async def open(self, lane: LaneKey) -> "DemoSession":
        """There is nothing to connect to."""
        return DemoSession(self._answers[lane.server])


class DemoSession:
    """One server's door."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """One try."""
        user = queue.name.rpartition("/")[2]
        return await self._answer(user, msgspec.json.decode(message.body, type=Parcel))

    def overdue(self, seconds: float) -> Outcome:
        """It may have been taken."""
        return unknown(f"no answer within {seconds:g} s")

    async def close(self) -> None:
        """Nothing to give back."""
