"""`postroad config show`: every setting, and where its value comes from."""

import os
from typing import Annotated, Any

from postroad.api.shown_settings import value_of
from postroad.cli.command import SettingsListing, add_group
from postroad.cli.options import Group, Option
from postroad.cli.printing import as_json, err
from postroad.config import names, unknown


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
    from postroad.verbs.sealing import find_keys  # with the whole of cryptography

    _ = find_keys(loaded.settings.keys_file)  # whether a server could read them
    values = {name: value_of(loaded.settings, name) for name in names()}
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
