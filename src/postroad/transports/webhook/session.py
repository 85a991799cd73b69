"""One lane's way to its server: vetted addresses, a client for each, one try after the other."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from pyreqwest.client import Client
from pyreqwest.exceptions import DetailedPyreqwestError, PyreqwestError
from pyreqwest.http import Url
from pyreqwest.response import Response

from postroad.model.errors import BadKey, BadUrl, StoreError
from postroad.model.ids import to_text
from postroad.model.note import Note
from postroad.model.outcome import Outcome, failed, rejected, unknown, unreachable
from postroad.model.webhook import ANSWER_KEPT_BYTES, WebhookRules
from postroad.model.words import Message, Queue
from postroad.ports.clock import Clock
from postroad.transports.webhook.answers import fault_of, judge
from postroad.transports.webhook.clients import Clients
from postroad.transports.webhook.endpoints import Endpoint, Endpoints
from postroad.transports.webhook.guard import Guard
from postroad.transports.webhook.resolving import Unresolved
from postroad.transports.webhook.target import Target, read

ANSWER_BYTES_MAX: Final = 64 << 10
RESOLVE_AGAIN_S: Final = 60.0
HEADERS_DECODER: Final = msgspec.json.Decoder(dict[str, str])
ENCODE: Final = msgspec.json.Encoder().encode
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
JSON: Final = {"content-type": "application/json"}


class Ways(Struct, frozen=True):
    """The addresses that were vetted last, in the order in which they are tried."""

    addresses: list[str]
    until_s: float


class Request(Struct, frozen=True):
    """One try's request."""

    url: Url
    headers: dict[str, str]
    shown: bytes
    body: bytes


class WebhookSession:
    """POSTs to one server. Queues of the lane share its clients."""

    def __init__(
        self,
        target: Target,
        rules: WebhookRules,
        guard: Guard,
        endpoints: Endpoints,
        clock: Clock,
        clients: Clients,
    ) -> None:
        self._target = target
        self._rules = rules
        self._guard = guard
        self._endpoints = endpoints
        self._clock = clock
        self._clients = clients
        self._loop = asyncio.get_running_loop()
        self._ways: Ways | None = None
        self._vetting = asyncio.Lock()
        self._urls: dict[str, Url] = {}

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """One try, at the first of the addresses that takes the connection."""
        try:
            endpoint = self._endpoints.get(queue.id) or await self._endpoints.ask(queue.id)
            request = self._request(queue, message, endpoint)
            ways = self._fresh() or await self._vet()
        except (BadKey, StoreError) as error:
            return unreachable(f"this webhook's settings cannot be read: {error}")
        except BadUrl as error:
            return replace(failed(str(error), answered=False), note=Note(fault="forbidden"))
        except Unresolved as error:
            return replace(unreachable(str(error)), note=Note(fault="dns"))
        except ValueError as error:
            return rejected(f"its headers cannot be sent: {error}")
        outcome = unreachable("no address was tried")
        start_s = 0.0
        for address in list(ways.addresses):
            client = await self._clients.get(self._target, address, endpoint.connect_ms)
            # Resolving and building a client is our own time, not the server's.
            start_s = start_s or self._loop.time()
            outcome = await self._call(client, self._at(address), request, endpoint, start_s)
            if outcome.status or outcome.kind != "unreachable":
                return outcome
            self._put_last(address)
            left_ms = endpoint.total_ms - (self._loop.time() - start_s) * 1000
            if left_ms <= endpoint.connect_ms:
                break
        self._ways = None  # perhaps it lives elsewhere now
        return outcome

    def overdue(self, seconds: float) -> Outcome:
        """It may have arrived."""
        return unknown(f"no answer within {seconds:g} s")

    async def close(self) -> None:
        """Nothing to give back: idle connections end by themselves in seconds."""

    # Where to

    def _fresh(self) -> Ways | None:
        ways = self._ways
        return ways if ways is not None and self._loop.time() < ways.until_s else None

    async def _vet(self) -> Ways:
        async with self._vetting:
            ways = self._fresh()
            if ways is None:
                found = await self._guard.addresses(self._target)
                ways = self._ways = Ways(found, self._loop.time() + RESOLVE_AGAIN_S)
            return ways

    def _put_last(self, address: str) -> None:
        """Others try it last, until the name is resolved again."""
        if self._ways is not None and self._ways.addresses[0] == address:
            self._ways.addresses.append(self._ways.addresses.pop(0))

    # What

    def _request(self, queue: Queue, message: Message, endpoint: Endpoint) -> Request:
        number, timestamp = to_text(message.id), self._clock.now_ms() // 1000
        names = endpoint.hook.names
        signed = {names.id: number, names.timestamp: str(timestamp)}
        if endpoint.signer:
            signed[names.signature] = endpoint.signer.sign(number, timestamp, message.body)
        own = {}
        if message.headers:
            given = HEADERS_DECODER.decode(message.headers)
            own = {name.lower(): value for name, value in given.items()}
        headers = {**JSON, **own, **endpoint.headers, **signed}
        shown = {**headers, **endpoint.shown} if endpoint.shown else headers
        return Request(self._url(queue.name), headers, ENCODE(shown), message.body)

    def _url(self, name: str) -> Url:
        """Read again by the same rules as when it was sent; it must still be this lane's server."""
        url = self._urls.get(name)
        if url is None:
            target = read(name, self._rules)
            if target.server != self._target.server:
                raise BadUrl(f"{target.server} is not {self._target.server}: it is not sent there")
            url = self._urls[name] = target.url
        return url

    # The try itself

    async def _call(
        self, client: Client, at: str, request: Request, endpoint: Endpoint, start_s: float
    ) -> Outcome:
        left_s = endpoint.total_ms / 1000 - (self._loop.time() - start_s)
        asking = (
            client.post(request.url)
            .headers(request.headers)
            .body_bytes(request.body)
            .timeout(timedelta(seconds=max(left_s, 0.001)))
            # 1: with more the client waits for that much of the body before it tells the status.
            .streamed_read_buffer_limit(1)
            .build_streamed()
        )
        kept, status, fault, answered_ms = b"", 0, "", -1
        outcome = unknown("no answer")
        headers = NO_HEADERS
        try:
            async with asking as answer:
                status = answer.status
                answered_ms = round((self._loop.time() - start_s) * 1000)
                headers = NO_HEADERS if status < 300 else answer.headers
                kept = await _beginning(answer)
        except DetailedPyreqwestError as error:
            causes = [cause["message"] for cause in error.details["causes"] or ()]
            fault, outcome = fault_of(causes)
        except PyreqwestError as error:
            fault, outcome = "other", unknown(f"{type(error).__name__}: {error}")
        if status:  # it stands, whatever became of the answer's body
            outcome = judge(status, headers, endpoint.hook.reject, self._clock.now_ms())
            fault = "answer_broken" if fault else ""
        note = Note(at, fault, request.shown, kept, answered_ms)
        return replace(outcome, status=status, note=note)

    def _at(self, address: str) -> str:
        host = f"[{address}]" if ":" in address else address
        return f"{host}:{self._target.port}"


async def _beginning(answer: Response) -> bytes:
    """What the log keeps. The rest is read too, up to a limit: so the connection can be used again.
    An answer that came whole with its head, as most do, takes no second turn of the client's
    thread: 10 µs of 190."""
    reader = answer.body_reader
    chunk = await reader.read_chunk()
    if chunk is None:
        return b""
    kept = chunk.to_bytes()
    if answer.get_header("content-length") != str(len(kept)):
        rest = await reader.read(ANSWER_BYTES_MAX)
        kept += b"" if rest is None else rest.to_bytes()
    return kept[:ANSWER_KEPT_BYTES]
