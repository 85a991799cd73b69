"""The root command, with all groups of commands."""

from difflib import get_close_matches
from importlib import import_module
from typing import Final

import click

from postroad.cli.options import Group
from postroad.cli.printing import out
from postroad.model.texts import NAME_MAX
from postroad.version import VERSION

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "serving": ("up", "hub", "api", "worker"),
    "listen": ("listen",),
    "demo": ("demo",),
    "messages": ("send", "message", "messages", "jobs", "cancel-all"),
    "batch": ("batch",),
    "batches": ("batches",),
    "timetables": ("timetable",),
    "dead": ("dead",),
    "queues": ("queues", "lanes", "levels", "explain", "pause", "resume", "unblock"),
    "limits": ("limit", "limits"),
    "rules": ("rules",),
    "webhooks": ("webhook",),
    "endpoints": ("endpoint",),
    "events": ("event", "event-type"),
    "replays": ("replay",),
    "top": ("top",),
    "stats": ("stats",),
    "figures": ("workers", "plot"),
    "mailboxes": ("mailbox",),
    "doctor": ("doctor",),
    "settings": ("config",),
    "campaigns": ("campaign",),
    "credentials": ("credential",),
    "attachments": ("attachment",),
    "suppressions": ("suppression",),
    "tenants": ("tenant",),
    "tokens": ("token",),
    "sessions": ("login", "session"),
    "portal": ("portal",),
    "audit": ("audit",),
    "privacy": ("privacy",),
    "keys": ("keys",),
    "stores": ("migrate", "store"),
}
"""The modules that add commands, and their names. A new group is a module with `add(app)`."""
INNER_MAX: Final = 3
"""A name that more groups have, as `list`, is not suggested."""


class Root(Group):
    """Loads the module of the command that is called, and all of them for the help."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        for module, names in GROUPS.items():
            if cmd_name in names:
                self._load(module)
        return super().get_command(ctx, cmd_name)

    def meant(self, _ctx: click.Context, name: str) -> list[str]:
        """Commands of groups that are called so, as `event publish`, or those of like names."""
        commands = self.whole().commands
        groups = {group: one for group, one in commands.items() if isinstance(one, Group)}
        inner = [f"{group} {name}" for group, one in groups.items() if name in one.commands]
        named = 0 < len(inner) <= INNER_MAX
        return inner if named else get_close_matches(name[:NAME_MAX], commands)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the commands' names in the order of the help."""
        return list(self.whole().commands)

    def whole(self) -> "Root":
        """This root with every command loaded, in the order of the help."""
        for module in GROUPS:
            self._load(module)
        order = [name for names in GROUPS.values() for name in names]
        self.commands = {name: self.commands[name] for name in order}
        return self

    def _load(self, module: str) -> None:
        if GROUPS[module][0] not in self.commands:
            import_module(f"postroad.cli.{module}").add(self)


def _version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - how click calls it
    if wanted:
        out().print(f"postroad {VERSION}")
        ctx.exit()


app = Root(
    "postroad",
    "Hand it a message for somebody else's server, and it gets there.\n\n"
    "Exit codes: 0 ok, 1 failed, 2 bad input, 3 unavailable.",
    [
        click.Option(
            ["--version"],
            help="Print the release.",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
        )
    ],
)
