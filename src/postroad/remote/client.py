"""Requests to the process that serves a road: signed, repeated where that is safe, and their
refusals as the errors that they were there."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import (
    NoOwner,
    NotOpen,
    NotPostroad,
    OlderServer,
    Overloaded,
    PostroadError,
    RoadUnreachable,
    StoreUnavailable,
)
from postroad.model.problem import PREFIX, Problem, error_of
from postroad.ports.clock import Chance, Clock
from postroad.remote.addresses import RoadAddress
from postroad.remote.api_request import ApiAnswer, ApiRequest
from postroad.remote.http import HttpLines, HttpReply
from postroad.transports.webhook.faults import Fault
from postroad.version import VERSION

TIMEOUT_S: Final = 60.0
"""How long an answer may take: a cancel waits for 40 s at most."""
OPEN_S: Final = 5.0
FIRST_PAUSE_S: Final = 0.05
PAUSE_MAX_S: Final = 2.0
AT_ONCE: Final = 32
AWAY: Final = (502, 503, 504)
NDJSON: Final = "application/x-ndjson"
NO_ROUTE: Final = f"{PREFIX}not-found"
DOUBT: Final = "; what was asked may have been done, or may still be: check before you repeat it"


class ServerAbout(Struct, frozen=True):
    """Which release serves the road, and for whom: a part of `GET /v1/about`."""

    version: str
    tenant: str
    every_tenant: bool


class RemoteClient:
    """A client of one server, while its road is open."""

    def __init__(
        self,
        address: RoadAddress,
        token: str,
        clock: Clock,
        chance: Chance,
        patience_s: float = 30.0,
    ) -> None:
        self.name = address.name
        self._lines = HttpLines(address)
        self._token = token
        self.clock = clock
        self.patience_s = patience_s
        """How long a request is repeated: one that is safe to repeat, or any that nobody takes."""
        self._chance = chance
        self._facts: ServerAbout | None = None
        self._room: asyncio.Semaphore | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests can be made."""
        return self._room is not None

    async def open(self) -> None:
        """Find out who answers there: a Postroad, of a release that we can ask, that knows our
        token."""
        self._room = asyncio.Semaphore(AT_ONCE)
        try:
            answer = await self.ask(
                ApiRequest("GET", "/v1/about"), patience_s=min(OPEN_S, self.patience_s)
            )
            self._facts = self._known(self.read(answer.content, ServerAbout))
        except BaseException:
            self.close()
            raise

    def _known(self, facts: ServerAbout) -> ServerAbout:
        if _release(facts.version) < _release(VERSION):
            raise OlderServer(
                f"{self.name} runs Postroad {facts.version}, this program has {VERSION}: upgrade "
                "the server first"
            )
        return facts

    def close(self) -> None:
        """Close the connections."""
        self._room = None
        self._lines.close()

    async def ask(
        self, asked: ApiRequest, *, again: bool = False, patience_s: float | None = None
    ) -> ApiAnswer:
        """Make a request, and return the answer if it is a good one; else raise the error that it
        stands for. `again`: it may be repeated though it may have been done. Reading may always."""
        again = again or asked.method == "GET"
        until_s = self.clock.steady_s() + (self.patience_s if patience_s is None else patience_s)
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await self._once(asked, again=again)
            except (Fault, PostroadError) as error:
                left_s = until_s - self.clock.steady_s()
                if left_s <= 0 or not _repeatable(error, again=again):
                    raise self._told(error, asked) from None
            await self.clock.sleep(min(pause_s * (0.5 + self._chance.random()), left_s))
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    async def _once(self, asked: ApiRequest, *, again: bool) -> ApiAnswer:
        async with self._asking(asked, fresh=not again) as reply:
            answer = ApiAnswer(reply.status, reply.headers, await reply.content())
        self._check(answer)
        return answer

    @asynccontextmanager
    async def stream(
        self, asked: ApiRequest, body: "AsyncIterable[bytes] | None" = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Make a request whose body or answer may be large; the answer comes in pieces. It is not
        repeated."""
        try:
            async with self._asking(asked, body, fresh=True) as reply:
                if reply.status >= 400:
                    answer = ApiAnswer(reply.status, reply.headers, await reply.content())
                    self._check(answer)
                yield reply.pieces()
        except Fault as fault:
            raise self._told(fault, asked) from None

    @asynccontextmanager
    async def _asking(
        self, asked: ApiRequest, body: "AsyncIterable[bytes] | None" = None, *, fresh: bool
    ) -> AsyncIterator[HttpReply]:
        if self._room is None:
            raise NotOpen("the road is not open: use it inside `async with road:`")
        signed = {"content-type": "application/json", **asked.headers}
        if self._token:
            signed["authorization"] = f"Bearer {self._token}"
        asked = structs.replace(asked, headers=signed)
        async with self._room, self._lines.asking(asked, TIMEOUT_S, body, fresh=fresh) as reply:
            yield reply

    def for_tenant(self, tenant: str | None) -> dict[str, str]:
        """The header that names a tenant. A token for one tenant needs none: what is not named is
        its own."""
        facts = self._facts
        if tenant is None or facts is None:
            return {}
        if not facts.every_tenant and tenant == DEFAULT_TENANT:
            return {}
        return {"postroad-tenant": tenant}

    def read(self, content: bytes, kind: Any) -> Any:
        """Decode an answer; NotPostroad, if it is another one than expected."""
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.MsgspecError as error:
            raise NotPostroad(
                f"{self.name} answers, but not as Postroad {VERSION} does ({error}): see what "
                "listens there, and its release"
            ) from None

    def check_end(self, last: dict[str, Any]) -> None:
        """Check the last line of an answer in lines: raise the problem that it tells, or that the
        answer was cut off."""
        if last.get("problem"):
            raise error_of(msgspec.convert(last["problem"], Problem))
        if not last.get("done"):
            raise RoadUnreachable(f"the answer of {self.name} was cut off{DOUBT}")

    def _check(self, answer: ApiAnswer) -> None:
        if answer.status < 300:
            return
        problem = self.problem(answer)
        if problem.type == NO_ROUTE:
            raise OlderServer(
                f"{self.name} does not know this request ({problem.detail}): it is of an older "
                f"release than {VERSION}, upgrade it"
            )
        raise error_of(problem)

    def problem(self, answer: ApiAnswer) -> Problem:
        """Read the problem that an answer is; NotPostroad, if it is none of ours."""
        try:
            problem = msgspec.json.decode(answer.content, type=Problem)
        except msgspec.MsgspecError:
            problem = None
        if problem is None or not problem.type.startswith(PREFIX):
            if answer.status in AWAY:  # a proxy in front of it
                raise RoadUnreachable(f"no answer from {self.name}: status {answer.status}")
            raise NotPostroad(
                f"what answers at {self.name} is no Postroad (status {answer.status}): correct the "
                "address, or see what listens there"
            )
        return problem

    def _told(self, error: Exception, asked: ApiRequest) -> Exception:
        """Return the error for the caller."""
        if not isinstance(error, Fault):
            return error
        doubt = DOUBT if error.sent and asked.method != "GET" else ""
        return RoadUnreachable(f"no answer from {self.name}: {error}{doubt}")


def _repeatable(error: Exception, *, again: bool) -> bool:
    if isinstance(error, Fault):
        return again or not error.sent
    if isinstance(error, NoOwner):  # it was not asked
        return True
    return again and isinstance(error, RoadUnreachable | Overloaded | StoreUnavailable)


def _release(version: str) -> tuple[int, ...]:
    """The part of a version within which requests stay the same."""
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)
