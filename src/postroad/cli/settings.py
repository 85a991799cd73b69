"""`postroad config show`: every setting, and where its value comes from."""

import os
from typing import Annotated, Any, Final

from msgspec import structs

from postroad.cli.command import SettingsListing, add_group
from postroad.cli.options import Group, Option
from postroad.cli.printing import as_json, err
from postroad.config import Loaded, names, unknown
from postroad.model.egress import NONE, proxy_text, read_proxies, read_proxy
from postroad.model.relay import read_relay
from postroad.stores.naming import shown

SECRET: Final = ("hub_token", "hub_create_token")


def add(app: Group) -> None:
    """Add the command for settings."""
    text = "Settings: from flags, then the environment, then a file."
    add_group(app, "config", "Look after it", text, {"show": show})


def show(
    call: SettingsListing,
    sources: Annotated[
        bool, Option("--sources", help="Show also where each value comes from.")
    ] = False,
) -> None:
    """Show every setting with its value, without passwords and tokens."""
    for name, hint in unknown(os.environ).items():
        err().print(f"{name} is not a setting: {hint}")
    loaded = call.loaded()
    values = {name: value_of(loaded, name) for name in names()}
    if call.json:
        told = {name: {"value": values[name], "source": loaded.sources[name]} for name in values}
        as_json(told if sources else values)
        return
    rows = [
        [name, _text(value), *([loaded.sources[name]] if sources else [])]
        for name, value in values.items()
    ]
    call.table(("name", "value~", "from") if sources else ("name", "value~"), rows)


def _text(value: Any) -> str:
    """A value as it is written in the environment."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def value_of(loaded: Loaded, name: str) -> Any:
    """The value of a setting by its dotted name, without secrets."""
    settings = loaded.settings
    if name == "dsn":
        return shown(settings.dsn)
    if name in SECRET:
        return "…" if getattr(settings, name) else ""
    if name == "hubs":
        return [hub.shown for hub in settings.hubs]
    if name == "mail.relay" and settings.mail.relay:
        relay = read_relay(settings.mail.relay)
        return relay.server + (" (with a password)" if relay.password else "")
    if name == "webhooks.proxy":
        return proxy_text(read_proxy(settings.webhooks.proxy))
    if name == "webhooks.tenant_proxies":
        known = read_proxies(settings.webhooks.tenant_proxies)
        return [f"{tenant}={proxy_text(proxy) or NONE}" for tenant, proxy in known.items()]
    section, _, inner = name.rpartition(".")
    held: Any = getattr(settings, section) if section else settings
    return structs.asdict(held)[inner]
