"""`postroad config show`: what is set, and by whom."""

import os
from typing import Annotated, Any, Final

from msgspec import structs

from postroad.cli.frame import CommandCall, command
from postroad.cli.options import Group, Option
from postroad.cli.printing import as_json, err, table
from postroad.config import Loaded, names, unknown
from postroad.stores.naming import shown

SECRET: Final = ("hub_token", "hub_create_token")


def add(app: Group) -> None:
    """These commands."""
    group = app.subgroup("config", "Look after it", "Settings: flags, then environment, then file.")
    command(group, "show")(show)


def show(
    call: CommandCall,
    sources: Annotated[bool, Option("--sources", help="Also where each comes from.")] = False,
) -> None:
    """Every setting with its value; passwords are left out."""
    for name, hint in unknown(os.environ).items():
        err().print(f"nobody reads {name}: {hint}")
    loaded = call.loaded()
    values = {name: value_of(loaded, name) for name in names()}
    if call.json:
        told = {name: {"value": values[name], "source": loaded.sources[name]} for name in values}
        as_json(told if sources else values)
        return
    rows = [[name, values[name], *([loaded.sources[name]] if sources else [])] for name in values]
    table(("name", "value", "from") if sources else ("name", "value"), rows)


def value_of(loaded: Loaded, name: str) -> Any:
    """A setting by its dotted name, fit to be shown."""
    settings = loaded.settings
    if name == "dsn":
        return shown(settings.dsn)
    if name in SECRET:
        return "…" if getattr(settings, name) else ""
    if name == "hubs":
        return [hub.shown for hub in settings.hubs]
    section, _, inner = name.rpartition(".")
    held: Any = getattr(settings, section) if section else settings
    return structs.asdict(held)[inner]
