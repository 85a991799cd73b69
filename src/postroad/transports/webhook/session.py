"""One lane's way to its server: vetted addresses, a client for each, one try after the other."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from pyreqwest.client import Client, ClientBuilder
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
from postroad.transports.webhook.endpoints import Endpoint, Endpoints
from postroad.transports.webhook.guard import Guard
from postroad.transports.webhook.resolving import Unresolved
from postroad.transports.webhook.target import Target, read

ANSWER_BYTES_MAX: Final = 64 << 10
RESOLVE_AGAIN_S: Final = 60.0
IDLE_S: Final = 4.0
"""Many servers close an idle connection after 5 s; sent at that moment a request is in doubt."""
IDLE_MAX: Final = 64
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
        builders: ThreadPoolExecutor,
    ) -> None:
        self._target = target
        self._rules = rules
        self._guard = guard
        self._endpoints = endpoints
        self._clock = clock
        self._builders = builders
        self._loop = asyncio.get_running_loop()
        self._ways: Ways | None = None
        self._vetting = asyncio.Lock()
        self._clients: dict[tuple[str, int], asyncio.Task[Client]] = {}
        self._urls: dict[str, Url] = {}

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """One try, at the first of the addresses that takes the connection."""
        start_s = self._loop.time()
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
        for address in list(ways.addresses):
            outcome = await self._call(address, request, endpoint, start_s)
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
        """Close all connections."""
        clients, self._clients = list(self._clients.values()), {}
        for client in await asyncio.gather(*clients, return_exceptions=True):
            if isinstance(client, Client):
                await client.close()

    # Where to

    def _fresh(self) -> Ways | None:
        ways = self._ways
        return ways if ways is not None and self._loop.time() < ways.until_s else None

    async def _vet(self) -> Ways:
        async with self._vetting:
            ways = self._fresh()
            if ways is None:
                found = await self._guard.addresses(self._target)
                self._clients = {k: c for k, c in self._clients.items() if k[0] in found}
                ways = self._ways = Ways(found, self._loop.time() + RESOLVE_AGAIN_S)
            return ways

    def _put_last(self, address: str) -> None:
        """Others try it last, until the name is resolved again."""
        if self._ways is not None and self._ways.addresses[0] == address:
            self._ways.addresses.append(self._ways.addresses.pop(0))

    async def _client(self, address: str, connect_ms: int) -> Client:
        """Built off the loop: it takes 4 to 7 ms."""
        key = (address, connect_ms)
        building = self._clients.get(key)
        if building is None or (building.done() and building.exception()):
            building = self._clients[key] = self._loop.create_task(self._build(*key))
        return building.result() if building.done() else await asyncio.shield(building)

    async def _build(self, address: str, connect_ms: int) -> Client:
        return await self._loop.run_in_executor(
            self._builders, build_client, self._target, address, connect_ms
        )

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
        self, address: str, request: Request, endpoint: Endpoint, start_s: float
    ) -> Outcome:
        client = await self._client(address, endpoint.connect_ms)
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
        note = Note(self._at(address), fault, request.shown, kept, answered_ms)
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


def build_client(target: Target, address: str, connect_ms: int) -> Client:
    """A client that can reach this one address only: no proxies, no redirects, no name server."""
    builder = (
        ClientBuilder()
        .no_proxy()
        .follow_redirects(enable=False)
        .gzip(enable=False)
        .brotli(enable=False)
        .zstd(enable=False)
        .deflate(enable=False)
        .referer(enable=False)
        .http1_only()
        .user_agent("postroad")
        .connect_timeout(timedelta(milliseconds=connect_ms))
        .pool_idle_timeout(timedelta(seconds=IDLE_S))
        .pool_max_idle_per_host(IDLE_MAX)
    )
    if target.literal is None:
        builder = builder.resolve(target.host, address, target.port)
    return builder.build()
