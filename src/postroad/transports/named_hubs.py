"""The hubs that a road may send to: those that its settings name, and the one that it serves."""

import asyncio
import ssl
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Protocol

from postroad.model.errors import BadSetting, BadUrl, HubAway, Shortage
from postroad.model.hubs import KnownHub, is_number
from postroad.model.tokens import EVERY_TENANT
from postroad.model.webhook import WebhookRules
from postroad.transports.webhook.addresses import Address
from postroad.transports.webhook.connections import trust
from postroad.transports.webhook.guard import Guard
from postroad.transports.webhook.resolving import Resolve, Unresolved


class HubPlace(Protocol):
    """A hub that may be sent to."""

    url: str
    own: bool
    """Whether the hub serves this road's own mailboxes."""

    def admits(self, tenant: str) -> bool:
        """Whether this tenant may send there."""

    def token(self, mailbox: str) -> str:
        """Return the token for a mailbox."""

    async def addresses(self) -> list[str]:
        """Return the IP addresses that may be connected to now; HubAway says why there are none."""

    async def tls(self) -> ssl.SSLContext | None:
        """Return the certificates to trust; None without TLS."""


class NamedHub:
    """A hub from the settings. Its addresses are vetted for each connection."""

    own = False

    def __init__(self, hub: KnownHub, deny: Sequence[str], resolve: Resolve) -> None:
        self._hub = hub
        self.host, _ = hub.place
        self.literal: Address | None = ip_address(self.host) if is_number(self.host) else None
        self.secure = hub.url.startswith("wss:")
        self.url = hub.url
        # A number names the address itself.
        named = () if self.literal is None else (self.host,)
        rules = WebhookRules(allow=(*hub.allow, *named), deny=tuple(deny))
        self._guard = Guard(rules, resolve, "hubs")
        self._trust: ssl.SSLContext | None = None

    def admits(self, tenant: str) -> bool:
        """Whether the settings let this tenant send there."""
        return tenant in self._hub.tenants or EVERY_TENANT in self._hub.tenants

    def token(self, mailbox: str) -> str:
        """Return the mailbox's own token, or the hub's."""
        return self._hub.mailbox_tokens.get(mailbox, self._hub.token)

    async def addresses(self) -> list[str]:
        """Resolve the name and vet each address; raises HubAway when none may be called."""
        try:
            found = await self._guard.addresses(self)
            self._check_plain(found)
        except (BadUrl, Unresolved, Shortage) as error:
            raise HubAway(str(error)) from error
        return found

    def _check_plain(self, found: Sequence[str]) -> None:
        for address in () if self.secure else found:
            if not self._guard.allows(address):
                raise BadUrl(
                    f"{self.url} would show its token to everybody between here and {address}: use "
                    "wss://, or name the network in settings.hubs.allow"
                )

    async def tls(self) -> ssl.SSLContext | None:
        """Read the system's certificates, or those of `ca_file`, once."""
        if self.secure and self._trust is None:
            self._trust = await asyncio.to_thread(self._read_trust)
        return self._trust

    def _read_trust(self) -> ssl.SSLContext:
        file = self._hub.ca_file
        try:
            return ssl.create_default_context(cafile=file) if file else trust()
        except OSError as error:
            raise BadSetting(f"hubs: ca_file = {file!r}: {error.strerror or error}") from None


class OwnHub:
    """The hub that this process serves."""

    own = True

    def __init__(
        self, url: str, address: str, token: str, trusted: ssl.SSLContext | None = None
    ) -> None:
        self.url = url
        self._address = address
        self._token = token
        self._trusted = trusted

    def admits(self, tenant: str) -> bool:  # noqa: ARG002
        """Everybody may send to it: each mailbox has its own tenant."""
        return True

    def token(self, mailbox: str) -> str:  # noqa: ARG002
        """Return the hub's own token."""
        return self._token

    async def addresses(self) -> list[str]:
        """Return the address on which it listens."""
        return [self._address]

    async def tls(self) -> ssl.SSLContext | None:
        """Trust its own certificate alone."""
        return self._trusted
