"""The session of one webhook lane: vetted addresses of its server, connections to each, and the
tries."""

import asyncio
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.access import ClientTls
from postroad.model.entities import Message, Queue
from postroad.model.errors import BadInput, BadKey, BadUrl, PostroadError, StoreError
from postroad.model.event import referred
from postroad.model.ids import to_text
from postroad.model.outcome import (
    DELIVERED,
    Kind,
    Outcome,
    failed,
    held,
    rejected,
    unknown,
    unreachable,
)
from postroad.model.redaction import Redaction
from postroad.model.try_details import TryDetails
from postroad.model.webhook import ANSWER_KEPT_BYTES, Hook, WebhookRules
from postroad.ports.clock import Clock
from postroad.transports.webhook.access import ExpiredCertificate, TryAccess
from postroad.transports.webhook.answers import judge, outcome_of
from postroad.transports.webhook.connections import ConnectionPool, IdleConnections
from postroad.transports.webhook.egress import Egress
from postroad.transports.webhook.endpoints import Endpoint, Endpoints
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.requests import Beginning, begin
from postroad.transports.webhook.resolving import Unresolved
from postroad.transports.webhook.shapes import Origin, shaped
from postroad.transports.webhook.target import Target, read
from postroad.transports.webhook.tokens import NoToken, TokenCache
from postroad.transports.webhook.transforms import FailedTransform, MissingTransform, Transforms

RESOLVE_AGAIN_S: Final = 60.0
POOLS_MAX: Final = 64
"""Addresses, each with the certificates of some endpoints: more need no long memory."""
UNAUTHORIZED: Final = 401
AHEAD_S: Final = 0.5
"""What is prepared holds at least so long."""


class AddressPool(Struct, frozen=True):
    """A vetted address, as the log shows it, and the connections to it."""

    at: str
    connections: ConnectionPool


class VettedAddresses(Struct, frozen=True):
    """The addresses that were vetted last, in the order in which they are tried."""

    addresses: list[str]
    until_s: float


class Shared(Struct, frozen=True):
    """What sessions share: in a process, and in a tenant."""

    idle: IdleConnections
    tokens: TokenCache
    transforms: Transforms
    redaction: Redaction
    tenant: str = ""


class WebhookSession:
    """Sends POST requests to one server. Queues of the lane share its connections."""

    def __init__(
        self,
        target: Target,
        rules: WebhookRules,
        egress: Egress,
        endpoints: Endpoints,
        clock: Clock,
        shared: Shared,
    ) -> None:
        self._target = target
        self._rules = rules
        self._egress = egress
        self._tenant = shared.tenant
        self._proxy = egress.proxy(shared.tenant)
        self._endpoints = endpoints
        self._clock = clock
        self._idle = shared.idle
        self._access = TryAccess(shared.tokens, clock)
        self._transforms = shared.transforms
        self._redaction = shared.redaction
        self._loop = asyncio.get_running_loop()
        self._vetted: VettedAddresses | None = None
        self._vetting = asyncio.Lock()
        self._targets: dict[str, Target] = {}
        self._begun: dict[int, Beginning] = {}
        self._pools: dict[tuple[str, ClientTls | None], AddressPool] = {}

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """Make one try; with another token at once where the receiver refuses the one before."""
        outcome = await self._try(queue, message)
        if outcome.status == UNAUTHORIZED and self._access.renews(queue, outcome):
            outcome = await self._try(queue, message)
        return await self._redacted(outcome, queue, message) if self._redaction else outcome

    async def _redacted(self, outcome: Outcome, queue: Queue, message: Message) -> Outcome:
        """Return the outcome of a try, without the fields of its body that are not shown: receivers
        repeat what they were sent."""
        names, bodies = [queue.name], self._endpoints.bodies
        if referred(message.headers) is not None:
            try:
                whole = await bodies.whole(queue.tenant, message)
            except StoreError:  # then nothing was sent
                return outcome
            names.append(bodies.origin(queue.tenant, message).type)
            message = whole or message
        for name in names:
            outcome = self._redaction.outcome(name, message.body, outcome)
        return outcome

    async def _try(self, queue: Queue, message: Message) -> Outcome:
        """Make one request, at the first address that accepts the connection."""
        origin: Origin | None = None
        try:
            endpoint = self._endpoints.get(queue.id) or await self._endpoints.ask(queue.id)
            if (url := endpoint.hook.url) and url not in self._targets:
                endpoint = await self._newest(queue, endpoint)
            if endpoint.oauth is not None or endpoint.tls is not None:
                endpoint = await self._access.ready(queue, endpoint)
            if referred(message.headers) is not None:
                whole = await self._endpoints.bodies.whole(queue.tenant, message)
                if whole is None:
                    return rejected("its event is gone: see the retention of history")
                origin, message = self._endpoints.bodies.origin(queue.tenant, message), whole
            if endpoint.hook.shape != "plain" or endpoint.hook.transform:
                origin = origin or self._endpoints.bodies.origin(queue.tenant, message)
                message = await self._shaped(message, endpoint.hook, origin)
            beginning = self._beginning(queue, message, endpoint)
            timestamp = self._clock.now_ms() // 1000
            request, shown = beginning.request(to_text(message.id), timestamp, message)
            vetted = self._fresh() or await self._vet()
        except PostroadError as error:
            return _not_sent(error)
        # Resolving is our own time, not the server's.
        start_s = self._loop.time()
        outcome = unreachable("no address was tried")
        for address in list(vetted.addresses):
            pool = self._pool(address, endpoint)
            outcome = await self._call(pool, request, shown, beginning, start_s)
            if outcome.status or outcome.kind is not Kind.unreachable:
                return outcome
            self._put_last(address)
            left_ms = endpoint.total_ms - (self._loop.time() - start_s) * 1000
            if left_ms <= endpoint.connect_ms:
                break
        self._vetted = None  # perhaps it lives elsewhere now
        return outcome

    async def prepare(self, queue: Queue, message: Message) -> Outcome | None:  # noqa: ARG002
        """Read the settings, vet the addresses and connect to one, so that a try can start at its
        rate slot."""
        endpoints, number = self._endpoints, queue.id
        try:
            endpoint = endpoints.get(number, AHEAD_S) or await endpoints.ask(number, AHEAD_S)
            if endpoint.oauth is not None or endpoint.tls is not None:
                endpoint = await self._access.ready(queue, endpoint)
            vetted = self._fresh() or await self._vet()
        except PostroadError as error:
            return _not_sent(error)
        outcome = unreachable("no address was tried")
        for address in list(vetted.addresses):
            pool = self._pool(address, endpoint)
            try:
                await pool.connections.prepare(endpoint.connect_ms / 1000)
            except Fault as fault:
                outcome = _fault(fault, pool)
                self._put_last(address)
            else:
                return None
        self._vetted = None
        return outcome

    def overdue(self, seconds: float) -> Outcome:
        """The outcome is unknown: the request may have arrived."""
        return unknown(f"no answer within {seconds:g} s")

    async def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.connections.close()

    # Where to

    def _fresh(self) -> VettedAddresses | None:
        vetted = self._vetted
        return vetted if vetted is not None and self._loop.time() < vetted.until_s else None

    async def _vet(self) -> VettedAddresses:
        async with self._vetting:
            vetted = self._fresh()
            if vetted is None:
                found = await self._egress.addresses(self._target, self._tenant)
                vetted = self._vetted = VettedAddresses(found, self._loop.time() + RESOLVE_AGAIN_S)
                for key in [key for key in self._pools if key[0] not in found]:
                    self._pools.pop(key).connections.close()
            return vetted

    def _put_last(self, address: str) -> None:
        """Let other tries use this address last, until the name is resolved again."""
        if self._vetted is not None and self._vetted.addresses[0] == address:
            self._vetted.addresses.append(self._vetted.addresses.pop(0))

    def _pool(self, address: str, endpoint: Endpoint) -> AddressPool:
        key = address, endpoint.tls
        pool = self._pools.get(key)
        if pool is None:
            if len(self._pools) >= POOLS_MAX:
                self._pools.pop(next(iter(self._pools))).connections.close()
            host = f"[{address}]" if ":" in address else address
            more = endpoint.tls, self._proxy
            connections = ConnectionPool(self._target, address, self._idle, *more)
            by = f" by {self._proxy.server}" if self._proxy else ""
            at = f"{host}:{self._target.port}{by}"
            pool = self._pools[key] = AddressPool(at, connections)
        return pool

    # What

    async def _shaped(self, message: Message, hook: Hook, origin: Origin) -> Message:
        """Bring a message into the form that its endpoint is set to."""
        if hook.transform:
            body = await self._transforms.apply(hook.transform, message.body, origin)
            message = replace(message, body=body)
        if hook.shape != "plain":
            message = shaped(message, hook.shape, self._rules.source, origin)
        return message

    async def _newest(self, queue: Queue, endpoint: Endpoint) -> Endpoint:
        """A queue's settings, read again if they name another server: then it has moved to this
        lane since."""
        if read(endpoint.hook.url, self._rules).server == self._target.server:
            return endpoint
        self._endpoints.forget()
        return await self._endpoints.ask(queue.id)

    def _beginning(self, queue: Queue, message: Message, endpoint: Endpoint) -> Beginning:
        beginning = self._begun.get(queue.id)
        if beginning is None or beginning.endpoint is not endpoint or message.headers:
            url = endpoint.hook.url or queue.name
            beginning = begin(self._read(url), endpoint, message.headers)
            if not message.headers:
                self._begun[queue.id] = beginning
        return beginning

    def _read(self, name: str) -> Target:
        """Read the URL by the rules that held when it was sent, and check that it is still this
        lane's server."""
        target = self._targets.get(name)
        if target is None:
            target = read(name, self._rules)
            if target.server != self._target.server:
                raise BadUrl(f"{target.server} is not {self._target.server}: it is not sent there")
            self._targets[name] = target
        return target

    # The try itself

    async def _call(
        self, pool: AddressPool, request: bytes, shown: bytes, beginning: Beginning, start_s: float
    ) -> Outcome:
        endpoint = beginning.endpoint
        until_s = start_s + endpoint.total_ms / 1000
        called_s = self._clock.steady_s()
        try:
            answer = await pool.connections.call(request, endpoint.connect_ms / 1000, until_s)
        except Fault as fault:
            return _fault(fault, pool, shown)
        outcome = DELIVERED
        if answer.status >= 300:
            reject, now_ms = endpoint.hook.reject, self._clock.now_ms()
            outcome = judge(answer.status, answer.headers, reject, now_ms)
        # The loop counts whole milliseconds: it says only how long ago the status came.
        taken_s = self._clock.steady_s() - called_s
        answered_ms = int(max(0.0, taken_s - (self._loop.time() - answer.at_s)) * 1000)
        broken = "answer_broken" if answer.broken else ""
        kept = beginning.veiled(answer.body)[:ANSWER_KEPT_BYTES]
        times = (answered_ms, answer.connect_ms)
        details = TryDetails(pool.at, broken, shown, kept, *times)
        return replace(outcome, status=answer.status, details=details)


def _fault(fault: Fault, pool: AddressPool, shown: bytes = b"") -> Outcome:
    outcome = outcome_of(fault.name, str(fault), sent=fault.sent)
    if fault.name == "certificate":
        outcome = held(f"the server refuses our certificate, or wants one: {fault}; set its tls")
    elif fault.name == "proxy":
        outcome = held(f"the egress proxy: {fault}")
    return replace(outcome, details=TryDetails(pool.at, fault.name, shown))


def _not_sent(error: PostroadError) -> Outcome:
    """Make the outcome of a try that made no call."""
    if isinstance(error, BadKey):
        return held(f"this webhook's settings cannot be read: {error}")
    if isinstance(error, StoreError):
        return unreachable(f"this webhook's settings cannot be read: {error}")
    if isinstance(error, NoToken | ExpiredCertificate):
        fault = "token" if isinstance(error, NoToken) else "certificate"
        return replace(held(str(error)), details=TryDetails(fault=fault))
    if isinstance(error, MissingTransform):
        return replace(held(str(error)), details=TryDetails(fault="transform"))
    if isinstance(error, FailedTransform):
        return replace(failed(str(error), answered=False), details=TryDetails(fault="transform"))
    if isinstance(error, BadUrl):
        return replace(failed(str(error), answered=False), details=TryDetails(fault="forbidden"))
    if isinstance(error, Unresolved):
        return replace(unreachable(str(error)), details=TryDetails(fault="dns"))
    if isinstance(error, BadInput):
        return rejected(f"its headers cannot be sent: {error}")
    raise error
