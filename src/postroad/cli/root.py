"""The root command, with all groups of commands."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from postroad.cli import (
    batch,
    campaigns,
    credentials,
    dead,
    demo,
    doctor,
    endpoints,
    keys,
    listen,
    mailboxes,
    messages,
    queues,
    serving,
    settings,
    stats,
    stores,
    tokens,
    top,
)
from postroad.cli.printing import out
from postroad.model.visible import one_line
from postroad.version import VERSION

GROUPS = (
    serving,
    listen,
    demo,
    messages,
    batch,
    dead,
    queues,
    endpoints,
    top,
    stats,
    mailboxes,
    doctor,
    settings,
    campaigns,
    credentials,
    tokens,
    keys,
    stores,
)
"""A new group of commands is a file in cli/ with `add(app)`; it is added here."""


class Root(TyperGroup):
    """Makes error texts about the command line safe for the terminal."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if isinstance(said := getattr(error, "message", None), str):
                error.message = one_line(said)  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    cls=Root,
    name="postroad",
    help="Hand it a message for somebody else's server, and it gets there.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - how Typer calls it
    if wanted:
        out().print(f"postroad {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the release.")
    ] = False,
) -> None:
    """Exit codes: 0 ok, 1 failed, 2 bad input, 3 unavailable."""


for group in GROUPS:
    group.add(app)
