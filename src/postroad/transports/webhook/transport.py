"""The webhook transport: which lane a URL belongs to, and sessions for lanes."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from postroad.model.endpoint import QUEUE_PREFIX
from postroad.model.entities import LaneKey, Policy
from postroad.model.errors import BadUrl, UnknownEndpoint
from postroad.model.redaction import Redaction
from postroad.model.webhook import WebhookRules
from postroad.ports.clock import Clock
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.connections import IdleConnections
from postroad.transports.webhook.egress import Egress
from postroad.transports.webhook.endpoints import Endpoints
from postroad.transports.webhook.own_server import OwnServer
from postroad.transports.webhook.patience import VettingPatience
from postroad.transports.webhook.requests import check_headers
from postroad.transports.webhook.resolving import Resolve, SystemResolver, Unresolved
from postroad.transports.webhook.session import Shared, WebhookSession
from postroad.transports.webhook.target import read
from postroad.transports.webhook.tokens import TokenCache
from postroad.transports.webhook.transforms import Transforms

GRACE_MS: Final = 5_000
"""The engine cuts a try only so long after the transport should have ended it: names have to be
resolved and clients built, and only the transport knows whether the request can have left."""


class WebhookTransport:
    """Each server has its lane: scheme, host, port, credential and tenant."""

    name = "webhook"
    shards = 1

    def __init__(
        self,
        rules: WebhookRules,
        endpoints: Endpoints,
        clock: Clock,
        *,
        resolve: Resolve | None = None,
        transforms: Transforms | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self.rules = rules
        self.own_server: OwnServer | None = None
        self.endpoints = endpoints
        self.idle = IdleConnections()
        self._clock = clock
        self._resolve = resolve or SystemResolver()
        self._egress = Egress(rules, self._resolve)
        self._patience = VettingPatience(clock)
        self.tokens = TokenCache(self._token_server, clock)
        transforms = transforms or Transforms()
        self.transform = transforms.register
        self._shared = Shared(self.idle, self.tokens, transforms, redaction or Redaction())
        self._policy = Policy(timeout_ms=rules.timeout_ms + GRACE_MS)

    def address(self, queue: str, tenant: str) -> LaneKey:
        """Return the lane of a URL. The lane of an endpoint is known to its queue alone."""
        check_known(queue)
        return LaneKey(self.name, read(queue, self.rules).server, tenant=tenant)

    async def vet(self, queue: str, tenant: str = "", *, now: bool = False) -> None:
        """Check that a URL may be called; BadUrl says why not. A name without an address may have
        one later, and is vetted at each try: only `now` refuses it."""
        check_known(queue)
        target = read(queue, self.rules)
        look_up = self._egress.addresses(target, tenant)
        if not now:
            with suppress(Unresolved):
                async with self._patience.of(tenant):
                    _ = await look_up  # whether it may be called
            return
        try:
            _ = await look_up  # whether it may be called
        except Unresolved as error:
            raise BadUrl(f"{target.server} cannot be called now: {error}") from None

    def check_endpoint(self, url: str) -> None:
        """Check that a URL is one, and does not lead back to this road."""
        target = read(url, self.rules)
        if self.own_server is not None:
            self.own_server.check(target)

    def check(self, headers: Mapping[str, str]) -> None:
        """Check that a message's own headers can be sent."""
        check_headers(headers)

    def policy(self, _queue: str, /) -> Policy:
        """Return the default policy."""
        return self._policy

    def pools(self) -> list[str]:
        """Any process can serve webhooks."""
        return [self.name]

    def concurrency(self, _pool: str, /) -> int:
        """Webhooks have no limit of their own."""
        return 0

    async def open(self, lane: LaneKey) -> WebhookSession:
        """Open a session. The name is resolved and vetted at its first send."""
        target = read(lane.server + "/", self.rules)
        rules, endpoints, clock = self.rules, self.endpoints, self._clock
        shared = replace(self._shared, tenant=lane.tenant)
        return WebhookSession(target, rules, self._egress, endpoints, clock, shared)

    async def close(self) -> None:
        """Close what sessions share."""
        await self.tokens.close()

    def _token_server(self, tenant: str) -> VettedHttp:
        """The client that asks token servers, which the guard vets as it does receivers."""
        return VettedHttp(self.rules, self._clock, self.idle, self._resolve, tenant)


def check_known(queue: str) -> None:
    """Raise UnknownEndpoint for the queue of an endpoint that is not there."""
    if queue.startswith(QUEUE_PREFIX):
        raise UnknownEndpoint(f"{queue[:80]!r} is no queue of an endpoint: list endpoints")
