"""The way out to a target: straight to a checked address, or through a proxy that looks up its
name."""

from typing import Final

from postroad.model.egress import EgressProxy, read_proxies
from postroad.model.errors import BadUrl
from postroad.model.webhook import WebhookRules
from postroad.transports.webhook.guard import Guard, Host
from postroad.transports.webhook.resolving import Resolve

LOCAL: Final = (
    "arpa",
    "corp",
    "home",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "private",
    "test",
)
"""Ends of names that no public server has."""


class Egress:
    """Says where a tenant's targets may be called, and through which proxy."""

    def __init__(self, rules: WebhookRules, resolve: Resolve) -> None:
        self._guard = Guard(rules, resolve)
        self._proxies = read_proxies(rules.proxies)

    def proxy(self, tenant: str) -> EgressProxy | None:
        """Return the proxy of a tenant; None is none."""
        return self._proxies.get(tenant, self._proxies.get(""))

    async def addresses(self, target: Host, tenant: str = "") -> list[str]:
        """Return the addresses at which a target may be called, or its name if a proxy looks it
        up. Raises Unresolved when it has no address, BadUrl when it must not be called."""
        if self.proxy(tenant) is None:
            return await self._guard.addresses(target, tenant)
        if target.literal is not None:
            self._guard.check(target.host, target.literal)
        else:
            check_name(target.host)
        return [target.host]


def check_name(host: str) -> None:
    """Raise BadUrl if a name is one of a private network by its form. Where others lead to, only
    the proxy sees."""
    _, dot, end = host.rpartition(".")
    if not dot or end in LOCAL:
        raise BadUrl(f"{host} is a name of a private network, which webhooks may not call")
