"""What a try needs before its request is written: a certificate that still counts, and a token."""

from typing import Final

from postroad.model.entities import Queue
from postroad.model.errors import PostroadError
from postroad.model.outcome import Outcome
from postroad.ports.clock import Clock
from postroad.transports.webhook.endpoints import Endpoint, authorized
from postroad.transports.webhook.tokens import TokenCache


class ExpiredCertificate(PostroadError):
    """The client certificate of an endpoint has expired: set a new one."""


QUICK_MS: Final = 2_000
"""A later refusal leaves no time for another request; the next try has the new token."""
NONE: Final = (None, "", None)


class TryAccess:
    """Makes the endpoints of one session ready for a try."""

    def __init__(self, tokens: TokenCache, clock: Clock) -> None:
        self._tokens = tokens
        self._clock = clock
        self._ready: dict[int, tuple[Endpoint, str, Endpoint]] = {}
        """The endpoint as it is set, its token, and the endpoint with that token, by queue."""

    async def ready(self, queue: Queue, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint with a token in its headers. Raises NoToken or
        ExpiredCertificate."""
        if self._clock.now_ms() >= endpoint.certificate_ends_ms:
            raise ExpiredCertificate("its client certificate has expired: set its tls")
        if endpoint.oauth is None:
            return endpoint
        token = await self._tokens.get(queue.tenant, endpoint.oauth)
        known = self._ready.get(queue.id)
        # One object while nothing changes: what requests begin with is written once for each.
        if known is None or known[0] is not endpoint or known[1] != token:
            bearing = authorized(endpoint, f"Bearer {token}")
            known = self._ready[queue.id] = endpoint, token, bearing
        return known[2]

    def renews(self, queue: Queue, refused: Outcome) -> bool:
        """Whether a request that the receiver did not authorize is to be made with a new token, in
        what is left of its time."""
        endpoint, token, _ = self._ready.get(queue.id, NONE)
        if endpoint is None or endpoint.oauth is None:
            return False
        helps = self._tokens.forget(queue.tenant, endpoint.oauth, token)
        return helps and refused.details is not None and refused.details.answered_ms < QUICK_MS
