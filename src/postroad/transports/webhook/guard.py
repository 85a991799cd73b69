"""The guard returns the addresses at which a target may be called, or the reason why not. One bad
address fails the whole name: that is how DNS rebinding begins."""

import socket
from ipaddress import IPv4Address, ip_address
from typing import Protocol

from postroad.model.errors import BadInput, BadUrl, Shortage
from postroad.model.webhook import WebhookRules
from postroad.transports.webhook import addresses
from postroad.transports.webhook.addresses import Address, networks
from postroad.transports.webhook.resolving import Resolve, SharedByTenants, Unresolved


class Host(Protocol):
    """The part of a target that is vetted: its name, and its address if the name is one."""

    @property
    def host(self) -> str:
        """The host name, as the client spells it."""

    @property
    def literal(self) -> Address | None:
        """The name as an IP address, if it is one."""


class Guard:
    """Vets targets by a road's rules. `section` is the part of the settings that allows more."""

    def __init__(self, rules: WebhookRules, resolve: Resolve, section: str = "webhooks") -> None:
        try:
            self._allow, self._deny = networks(rules.allow), networks(rules.deny)
        except ValueError as error:
            raise BadInput(f"settings.{section}: {error}: give networks as 10.1.0.0/16") from None
        self._resolve = resolve
        self._section = section

    async def addresses(self, target: Host, tenant: str = "") -> list[str]:
        """Resolve and vet a target. Raises Unresolved when it has no address, BadUrl when it must
        not be called. Names of one tenant do not wait for those of another."""
        if target.literal is not None:
            found: list[Address] = [target.literal]
        else:
            found = [_read(target, text) for text in await self._named(target.host, tenant)]
        if not found:
            raise Unresolved(f"{target.host} has no address")
        for address in found:
            self.check(target.host, address)
        return [str(address) for address in found]

    async def _named(self, host: str, tenant: str) -> list[str]:
        if isinstance(self._resolve, SharedByTenants):
            return await self._resolve.resolve(host, tenant)
        return await self._resolve(host)

    def allows(self, address: str) -> bool:
        """Whether the settings name this address, or a network that it is in."""
        return any(ip_address(address) in network for network in self._allow)

    def check(self, host: str, address: Address) -> None:
        """Vet one address; BadUrl says why it must not be called."""
        why = addresses.forbidden(address, self._allow, self._deny)
        if not why and not any(address in net for net in self._allow) and _is_ours(address):
            why = "this machine's own"
        if why:
            # Without the address: with it a stranger who gave the name could read our name server.
            raise BadUrl(
                f"{host} leads to an address that {self._section} may not call ({why}): see "
                f"settings.{self._section}.allow"
            )


def _read(target: Host, text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError:
        raise BadUrl(f"{target.host} resolves to {text!r}, which is no address") from None


def _is_ours(address: Address) -> bool:
    """Whether this machine has the address: only then can it be bound to."""
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError as error:
        if lacks := Shortage.of(error):  # nobody knows then whose it is
            raise lacks from None
        return False
    return True
