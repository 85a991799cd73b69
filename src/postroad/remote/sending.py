"""Sends as requests. Each has an idempotency key, of its own where the caller gives none: so a send
whose answer was lost is repeated, and stored once. One that replaces has none, and is repeated only
while it would replace itself."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct, structs

from postroad.engine.drafting import Send, as_send
from postroad.model.bodies import encode_body
from postroad.model.durations import seconds_of
from postroad.model.errors import (
    BadInput,
    BadTime,
    Overloaded,
    PostroadError,
    RoadUnreachable,
    StoreUnavailable,
)
from postroad.model.problem import Problem, error_of
from postroad.observe import tracing
from postroad.ports.clock import Clock
from postroad.ports.entropy import secret_bytes
from postroad.remote.api_request import ApiAnswer, ApiRequest
from postroad.remote.calls import lines_of
from postroad.remote.client import NDJSON, RemoteClient
from postroad.verbs.receipts import JobReads, Receipt, SentReceipt
from postroad.verbs.sending import Sends, with_trace

OWN: Final = "remote-"
"""How the keys begin that are given here."""
TOGETHER_MAX: Final = 10_000
LINES: Final = 5_000
BYTES: Final = 8 << 20
PAUSE_S: Final = 0.5
MARGIN_S: Final = 1.0
"""How long before it is due a message is not sent again to replace itself."""
AWAY: Final = (Overloaded, StoreUnavailable)


class LineSaid(Struct, frozen=True):
    """The answer to one line of a batch."""

    line: int = 0
    id: str = ""
    queue: str = ""
    duplicate: bool = False
    earlier: str = ""
    problem: Problem | None = None
    done: bool = False


class RemoteSending:
    """Sends messages to the server of a road."""

    def __init__(self, client: RemoteClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self.jobs: JobReads | None = None

    async def send(self, send: Send) -> Receipt:
        """Store one message."""
        (send,) = self._prepared([send])
        headers = self._client.for_tenant(send.tenant)
        asked = ApiRequest("POST", "/v1/messages", {}, line_of(send), headers)
        answer = await self._ask(asked, [send])
        return self._own(send, self._client.read(answer.content, Receipt))

    async def send_many(self, sends: Sends) -> list[Receipt]:
        """Store many messages in one transaction."""
        asked = self._prepared([as_send(one) for one in sends])
        tenants = {send.tenant for send in asked}
        if not asked:
            return []
        if len(asked) > TOGETHER_MAX or len(tenants) > 1:
            raise BadInput(
                f"{len(asked)} messages of {len(tenants)} tenants: a server stores at most "
                f"{TOGETHER_MAX} of one tenant together; send them in parts, or use send_each"
            )
        content = b"\n".join(map(line_of, asked))
        headers = {**self._client.for_tenant(asked[0].tenant), "content-type": NDJSON}
        path = "/v1/messages:batch"
        request = ApiRequest("POST", path, {"together": "true"}, content, headers)
        answer = await self._ask(request, asked)
        said = [self._client.read(line, LineSaid) for line in answer.content.splitlines()]
        if len(said) != len(asked) + 1:
            raise RoadUnreachable(f"the answer of {self._client.name} was cut off")
        receipts = [Receipt(one.id, one.queue, one.duplicate, one.earlier) for one in said[:-1]]
        return [self._own(send, got) for send, got in zip(asked, receipts, strict=True)]

    async def send_each(self, sends: Sends) -> list[Receipt | PostroadError]:
        """Store many messages, each for itself. Those that a server could not store in time are
        sent again, with their keys, while there is patience."""
        asked = self._prepared([as_send(one) for one in sends])
        said: dict[int, Receipt | PostroadError] = {}
        began_s = self._clock.steady_s()
        left = list(range(len(asked)))
        while left:
            for places in _parts(asked, left):
                said |= await self._batch(asked, places)
            passed_s = self._clock.steady_s() - began_s
            left = [n for n in left if self._again(asked[n], said[n], passed_s)]
            if left:
                await self._clock.sleep(PAUSE_S)
        return [said[n] for n in range(len(asked))]

    async def _ask(self, request: ApiRequest, sends: Sequence[Send]) -> ApiAnswer:
        """Store these, and ask again while that stores none of them twice."""
        patience_s = self._client.patience_s
        while_s = min(_repeatable_s(send, patience_s) for send in sends)
        again = while_s > 0
        asked_s = while_s if again else patience_s
        return await self._client.ask(request, again=again, patience_s=asked_s)

    def _again(self, send: Send, said: Receipt | PostroadError, passed_s: float) -> bool:
        """Whether one is sent again that got this answer: it may be stored, or not."""
        return isinstance(said, AWAY) and passed_s < _repeatable_s(send, self._client.patience_s)

    async def _batch(
        self, asked: Sequence[Send], places: Sequence[int]
    ) -> dict[int, Receipt | PostroadError]:
        """What is said to each of these; what was not answered has that for its error."""
        tenant = asked[places[0]].tenant
        headers = {**self._client.for_tenant(tenant), "content-type": NDJSON}
        content = b"\n".join(line_of(asked[n]) for n in places)
        request = ApiRequest("POST", "/v1/messages:batch", {}, content, headers)
        said: dict[int, Receipt | PostroadError] = {}
        lost: PostroadError = RoadUnreachable(f"no answer from {self._client.name}")
        try:
            async with self._client.stream(request) as pieces:
                async for text in lines_of(pieces):
                    line: LineSaid = self._client.read(text, LineSaid)
                    if not line.done:
                        place = places[line.line - 1]
                        said[place] = self._said(asked[place], line)
        except AWAY as error:
            lost = error
        return dict.fromkeys(places, lost) | said

    def _said(self, send: Send, line: LineSaid) -> Receipt | PostroadError:
        if line.problem is not None:
            return error_of(line.problem)
        return self._own(send, Receipt(line.id, line.queue, line.duplicate, line.earlier))

    def _own(self, send: Send, receipt: Receipt) -> Receipt:
        """A message with a key of our own was sent once, however often it had to be asked for."""
        duplicate = receipt.duplicate and not (send.key or "").startswith(OWN)
        return SentReceipt(
            receipt.id, receipt.queue, duplicate, receipt.earlier, send.tenant, self.jobs
        )

    def _prepared(self, sends: Sequence[Send]) -> list[Send]:
        keyed = [
            send if send.key or send.replace or send.unique_for else _with_own_key(send)
            for send in sends
        ]
        if not tracing.active():
            return keyed
        with tracing.sending(len(keyed)) as carried:
            return [with_trace(send, carried) for send in keyed]


def _with_own_key(send: Send) -> Send:
    return structs.replace(send, key=f"{OWN}{secret_bytes(12).hex()}")


def _repeatable_s(send: Send, patience_s: float) -> float:
    """How long a send may be repeated that may be stored: one that replaces until it is due."""
    return min(patience_s, seconds_of(send.delay) - MARGIN_S) if send.replace else patience_s


def _parts(asked: Sequence[Send], places: Sequence[int]) -> Iterator[list[int]]:
    """Parts of a batch: of one tenant each, and not too large for one request."""
    part, size = list[int](), 0
    for n in places:
        bytes_more = len(line_of(asked[n]))
        full = len(part) >= LINES or size + bytes_more > BYTES
        if part and (full or asked[n].tenant != asked[part[0]].tenant):
            yield part
            part, size = [], 0
        part.append(n)
        size += bytes_more
    if part:
        yield part


def line_of(send: Send) -> bytes:
    """A message as the API takes it."""
    told: dict[str, Any] = structs.asdict(send)
    del told["tenant"], told["body"]
    delay_s = told["delay"] = seconds_of(send.delay)
    if not delay_s >= 0:
        raise BadTime(f"delay={send.delay!r}: give seconds from now or a timedelta")
    told |= {name: seconds_of(told[name]) for name in ("at_most", "unique_for")}
    told = {name: value for name, value in told.items() if value not in (None, 0, False)}
    if isinstance(send.body, bytes):
        told["body_base64"] = b64encode(send.body).decode()
    else:
        told["body"] = Raw(encode_body(send.body))
    return msgspec.json.encode(told)
