"""Settings as they are shown: without passwords and tokens."""

from typing import Any, Final

from msgspec import structs

from postroad.config import Settings
from postroad.model.egress import NONE, proxy_text, read_proxies
from postroad.model.relay import read_relay
from postroad.stores.naming import shown

SECRET: Final = ("hub_token", "hub_create_token")


def value_of(settings: Settings, name: str) -> Any:
    """The value of a setting by its dotted name, without secrets."""
    if name == "dsn":
        return shown(settings.dsn)
    if name in SECRET:
        return "…" if getattr(settings, name) else ""
    if name == "hubs":
        return [hub.shown for hub in settings.hubs]
    if name == "mail.relay" and settings.mail.relay:
        relay = read_relay(settings.mail.relay)
        return relay.server + (" (with a password)" if relay.password else "")
    if name == "webhooks.proxies":
        known = read_proxies(settings.webhooks.proxies)
        texts = {tenant: proxy_text(proxy) or NONE for tenant, proxy in known.items()}
        return [f"{tenant}={text}" if tenant else text for tenant, text in texts.items()]
    section, _, inner = name.rpartition(".")
    held: Any = getattr(settings, section) if section else settings
    return structs.asdict(held)[inner]
