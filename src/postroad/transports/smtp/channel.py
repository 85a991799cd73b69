"""Mail as a channel: what its credentials need, which lane a recipient's mail takes, and sessions
for lanes."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.model.blobs import Attachment
from postroad.model.credential import (
    BadCredential,
    Credential,
    CredentialField,
    CredentialSpec,
    OpenCredential,
)
from postroad.model.entities import DEFAULT_TENANT, LaneKey, Policy
from postroad.model.errors import BadInput
from postroad.model.ladder import MINUTE_MS, Steps
from postroad.model.mail_address import PLAIN, normal_mail
from postroad.model.mail_report import MailReport
from postroad.model.mail_settings import MailSettings
from postroad.model.recipients import Measured, RecipientCheck
from postroad.model.relay import MailRelay, read_relay
from postroad.model.suppression import folded
from postroad.model.webhook import WebhookRules
from postroad.ports.channel import OnceOnly, ProviderCall
from postroad.ports.clock import Chance, Clock, system_chance
from postroad.transports.mail_providers.reading import (
    FIELDS,
    ProviderReports,
    check_provider,
    mark_header,
)
from postroad.transports.mail_providers.sns import Get
from postroad.transports.smtp.body import check_body, needs_link, read_body
from postroad.transports.smtp.connections import Connections
from postroad.transports.smtp.dkim import DkimKey, read_keys
from postroad.transports.smtp.headers import mailbox
from postroad.transports.smtp.mail_routes import DirectRoute, MailWorld, RelayRoute
from postroad.transports.smtp.making import FetchBlob, Links, MailMaker
from postroad.transports.smtp.mta_sts import Fetch, StsPolicies
from postroad.transports.smtp.prepared import read_prepared
from postroad.transports.smtp.resolver import DnsResolver
from postroad.transports.smtp.routes import NoMail, route
from postroad.transports.smtp.session import MailSession
from postroad.transports.webhook.connections import IdleConnections
from postroad.transports.webhook.guard import Guard
from postroad.transports.webhook.resolving import Resolve, SystemResolver, Unresolved

LADDER: Final = Steps(
    retries=16, delays_ms=tuple(minutes * MINUTE_MS for minutes in (1, 5, 15, 60, 120, 240))
)
"""Two days: greylisting passes in minutes, and a full mailbox is seldom emptied within hours."""
TIMEOUT_MS: Final = 1_200_000
"""The engine cuts a try only so late: the transport ends each step itself, and only it knows
whether the mail can have been taken."""
PLAIN_MAIL: Final = Measured()
ANYWHERE: Final = ("0.0.0.0/0", "::/0")
AHEAD: Final = 8
"""Mails in flight for each connection: one is sent, the starts of the others are written down. One
commit serves many starts: with 2 in place of 8 a road on a disk sent 991 a second, not 1,300 to
2,100 (decision 089)."""


class MailParts(Struct, frozen=True):
    """What the channel is made of."""

    settings: MailSettings
    deny: tuple[str, ...]
    """Networks that may not be called: the webhooks' setting."""
    clock: Clock
    idle: IdleConnections
    links: Links
    blob: FetchBlob
    fetch: Fetch
    """Gets a domain's MTA-STS policy."""
    get: Get
    """Gets a provider's certificate."""
    resolve: Resolve | None = None
    resolver: DnsResolver | None = None
    chance: Chance | None = None
    port: int = 25


class SmtpChannel:
    """Sends mail through relays, or straight to the servers of each domain."""

    name = "smtp"
    scheme = "mailto"
    parts = ("subject", "text", "html")
    recipients = RecipientCheck(normal_mail, PLAIN)
    policy = Policy(ladder=LADDER, at_most_once=True, timeout_ms=TIMEOUT_MS)
    calls_max = 1
    fields = (
        CredentialField("server", "the relay, as smtp://HOST:587, or mx; empty: settings.mail"),
        CredentialField("account", "the user at the relay"),
        CredentialField("secret", "the password at the relay", sealed=True),
        CredentialField("sender", "whom mails are from that do not say it"),
        CredentialField("dkim_domain", "the domain that signs; empty: the sender's"),
        CredentialField("dkim_selector", "the name of the key in the domain's records"),
        CredentialField("dkim_key", "the private key in PEM", sealed=True),
        *FIELDS,
    )

    def __init__(self, parts: MailParts) -> None:
        self._parts = parts
        settings = parts.settings
        self._relay = read_relay(settings.relay) if settings.relay else None
        self.window = AHEAD * (self._relay or MailRelay()).options.sessions
        resolver = self._resolver = parts.resolver or DnsResolver()
        found = parts.resolve or resolver
        system = parts.resolve or SystemResolver()
        tenants = WebhookRules(allow=settings.allow, deny=parts.deny)
        self._guard = Guard(tenants, system, "mail")
        # Settings may name a relay wherever it is: their author runs this machine.
        self._trusting = Guard(WebhookRules(allow=ANYWHERE), system, "mail")
        self._provider = ProviderReports(parts.get, parts.clock)
        self._world = MailWorld(
            Guard(tenants, found, "mail"),
            resolver,
            StsPolicies(resolver, parts.fetch),
            parts.chance or system_chance(),
            parts.port,
        )

    def default(self) -> OpenCredential | None:
        """The credential that settings give, if they name a relay."""
        if self._relay is None:
            return None
        spec = CredentialSpec(sender=self._parts.settings.sender)
        return OpenCredential(
            Credential(0, DEFAULT_TENANT, self.name, self.name, spec, "", b""), {}
        )

    def check(self, spec: CredentialSpec, secrets: Mapping[str, str]) -> None:
        """Check a credential; BadInput says what is wrong."""
        credential = OpenCredential(Credential(0, "", "", self.name, spec, "", b""), secrets)
        if spec.server and read_relay(spec.server).user:
            # It would be stored as it stands, and shown by whatever shows the credential.
            raise BadInput("the server has a user and a password in it: give account and secret")
        _ = self._relay_of(credential)  # whether there is one
        if bool(spec.account) != bool(credential.secret):
            raise BadInput("a user needs its password, and a password its user")
        if spec.sender:
            _ = mailbox(spec.sender)  # whether it is an address
        _ = _keys(credential)  # whether they can sign
        check_provider(spec.options, secrets)

    async def reports(
        self, call: ProviderCall, credential: OpenCredential, once: OnceOnly
    ) -> Sequence[MailReport] | None:
        """Read a callback of the credential's provider; None when it is not from there."""
        return await self._provider.read(call, credential, once)

    def encode(self, parts: Mapping[str, str]) -> bytes:
        """Return the body of a campaign's mail."""
        return msgspec.json.encode({name: text for name, text in parts.items() if text})

    def measure(self, body: bytes) -> Measured:
        """Check a mail: what is refused here is never stored."""
        if body[:1] == b"{":
            said = read_body(body)
            check_body(said)
            if needs_link(said) and not self._parts.settings.public_url:
                raise BadInput("a link to unsubscribe cannot be made: set mail.public_url")
            return Measured(blobs=tuple(one.id for one in said.attachments if one.id))
        _ = read_prepared(body)  # whether it is one
        return PLAIN_MAIL

    def check_recipient(self, body: bytes, recipient: str) -> None:
        """Refuse a mail whose `to` is somebody else: who reads it would not see whose it is."""
        if body[:1] != b"{" or b'"to"' not in body:
            return
        to = read_body(body).to
        if to and folded(normal_mail(mailbox(to).address)) != folded(recipient):
            raise BadInput(f"`to` is {to[:100]!r}, but the mail is sent to {recipient}: name it")

    def attach(self, body: bytes, attachments: Sequence[Attachment]) -> bytes:
        """Add stored attachments to the body of a campaign's mail."""
        return body[:-1] + b',"attachments":' + msgspec.json.encode(attachments) + b"}"

    async def site(self, recipient: str, credential: OpenCredential) -> str:
        """Return the relay's name, or that of the site that takes the recipient's mail; of a domain
        that nobody knows now it is the domain."""
        if site := self.only_site(credential):
            return site
        domain = recipient.rpartition("@")[2]
        try:
            return (await route(domain, self._resolver, self._world.chance)).site
        except (NoMail, Unresolved):
            return domain

    def sessions(self, credential: OpenCredential) -> int:
        """Return the sessions of a lane, as the credential's relay or the settings say."""
        return self._relay_of(credential).options.sessions

    def only_site(self, credential: OpenCredential) -> str:
        """Return the relay's name; empty where mail goes straight to other servers."""
        relay = self._relay_of(credential)
        return "" if relay.direct else relay.host.replace(":", "_")  # a colon ends it in a name

    async def connect(self, lane: LaneKey, credential: OpenCredential) -> MailSession:
        """Open a session. Servers are found and connected to when mails are sent."""
        relay, parts = self._relay_of(credential), self._parts
        route: DirectRoute | RelayRoute = DirectRoute(relay, self._world, lane.tenant)
        if not relay.direct:
            guard = self._guard if credential.spec.server else self._trusting
            route = RelayRoute(relay, guard, lane.tenant)
        sender = credential.spec.sender or parts.settings.sender
        mark = mark_header(credential.spec.options)
        maker = MailMaker(lane.tenant, sender, _keys(credential), parts.links, parts.blob, mark)
        connections = Connections(relay.options.sessions, relay.options.mails, parts.idle)
        return MailSession(route.servers, connections, maker, parts.clock, relay=not relay.direct)

    def _relay_of(self, credential: OpenCredential) -> MailRelay:
        spec = credential.spec
        relay = read_relay(spec.server) if spec.server else self._relay
        if relay is None:
            raise BadCredential(
                "no relay is named: give `server`, or set mail.relay to smtp://… or mx"
            )
        if spec.account:
            relay = replace(relay, user=spec.account, password=credential.secret)
        return relay


def _keys(credential: OpenCredential) -> tuple[DkimKey, ...]:
    """Read the keys that sign the mails of a credential."""
    spec = credential.spec
    pem, selectors = credential.secrets.get("dkim_key", ""), spec.options.get("dkim_selector", "")
    if not pem and not selectors:
        return ()
    domain = spec.options.get("dkim_domain", "")
    if not domain and spec.sender:
        domain = mailbox(spec.sender).domain
    if not domain:
        raise BadInput("dkim_key without a domain: give dkim_domain, or a sender")
    return read_keys(domain, selectors, pem)
