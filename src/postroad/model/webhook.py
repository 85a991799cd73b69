"""Values of webhooks: the rules of a road, the settings of one queue, and a try from the log."""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from postroad.model.access import Auth, ClientTls
from postroad.model.entities import Policy
from postroad.model.near_names import NamesChecked
from postroad.model.texts import HeaderName
from postroad.model.tries import Try

ANSWER_KEPT_BYTES: Final = 16 << 10
HEADERS: Final = msgspec.json.Decoder(dict[str, str])


Shape = Literal["plain", "cloudevents", "cloudevents-binary"]
"""The body alone, or a CloudEvent: as JSON, or in headers."""
BINARY: Final = "cloudevents-binary"


class WebhookRules(Struct, metaclass=NamesChecked, frozen=True):
    """What webhooks of a road may reach, and how long they may take unless a queue says so."""

    allow: tuple[str, ...] = ()
    """Networks (CIDR) that may be called although they are private or special."""
    deny: tuple[str, ...] = ()
    """Networks that may not be called although they are public: your own, for example."""
    http: bool = False
    """Whether http:// is taken as well as https://."""
    ports: tuple[int, ...] = (443, 8443)
    """Ports that may be called; none named is all. With `http` 80 counts as named."""
    connect_timeout_ms: int = 5_000
    timeout_ms: int = 15_000
    """How long a try may take, from its start to the end of its answer."""
    proxies: tuple[str, ...] = ()
    """What webhooks go out through, as http://USER:PASSWORD@HOST:PORT. For one tenant as
    TENANT=PROXY; TENANT=none is no proxy."""
    source: str = "postroad"
    """The `source` of CloudEvents, a URI reference: whose events they are."""


class HeaderNames(Struct, frozen=True):
    """The names of the three signature headers, for receivers that expect other names than the
    standard's."""

    id: HeaderName = "webhook-id"
    timestamp: HeaderName = "webhook-timestamp"
    signature: HeaderName = "webhook-signature"


class Hook(Struct, frozen=True):
    """What is set for one webhook queue and is no secret. Times of 0 are the road's."""

    reject: tuple[int, ...] = ()
    connect_timeout_ms: int = 0
    timeout_ms: int = 0
    names: HeaderNames = HeaderNames()
    url: str = ""
    """The URL of an endpoint, whose queue is not named by it."""
    shape: Shape = "plain"
    transform: str = ""
    """The name of a function that the operator registered."""


class HookSecrets(Struct, frozen=True):
    """What is set for one webhook queue and sealed: signing secrets, and headers to send along."""

    secrets: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    ending: tuple[tuple[str, int], ...] = ()
    """Secrets that were replaced and sign until a time."""
    auth: Auth | None = None
    """What requests are authorized with."""
    tls: ClientTls | None = None

    def live(self, now_ms: int) -> tuple[str, ...]:
        """Return the secrets that sign now, the newest first."""
        return (*self.secrets, *(secret for secret, ends_ms in self.ending if now_ms < ends_ms))


class HookRow(Struct, frozen=True):
    """A webhook queue's settings as stored. `key`: which key sealed it, "" is none."""

    queue: int
    tenant: str
    hook: bytes
    key: str
    sealed: bytes


class HookEntry(Struct, frozen=True):
    """A webhook queue that something is set for, in a list."""

    url: str
    policy: Policy
    row: HookRow


class AttemptFacts(Try, frozen=True):
    """One try of a webhook: when it was, where it went, and how it ended."""

    answered_ms: int
    """From the start to the answer's status; -1 when there was none."""
    address: str
    fault: str
    connect_ms: int
    """Of these, those in which a connection was made, with its TLS handshake; 0 when one was there,
    -1 when that is not known."""


class Attempt(AttemptFacts, frozen=True):
    """One try of a webhook, from the log."""

    request: bytes
    """The request's headers as JSON, without secrets."""
    answer: bytes
    """The beginning of the answer's body."""

    @property
    def headers(self) -> dict[str, str]:
        """What was sent; a secret is shown as …"""
        return HEADERS.decode(self.request) if self.request else {}
