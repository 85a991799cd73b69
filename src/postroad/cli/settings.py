"""`postroad config show`: what is set, and by whom."""

import os
from typing import Annotated, Any, Final

import typer
from msgspec import structs

from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, err, table
from postroad.config import Loaded, names, unknown
from postroad.stores.naming import shown

SECRET: Final = ("hub_token", "hub_create_token")


def add(app: typer.Typer) -> None:
    """These commands."""
    group = typer.Typer(no_args_is_help=True, help="Settings: flags, then environment, then file.")
    app.add_typer(group, name="config", rich_help_panel="Look after it")
    command(group, "show")(show)


def show(
    call: Invocation,
    sources: Annotated[bool, typer.Option("--sources", help="Also where each comes from.")] = False,
) -> None:
    """Every setting with its value; passwords are left out."""
    for name, hint in unknown(os.environ).items():
        err().print(f"nobody reads {name}: {hint}", soft_wrap=True)
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
