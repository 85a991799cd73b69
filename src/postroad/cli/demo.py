"""`postroad demo`: several hundred messages to good and bad recipients, in compressed time."""

from typing import Annotated

import typer

from postroad.cli.command import Invocation, command


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "demo", rich_help_panel="Run")(demo)


def demo(
    call: Invocation,
    messages: Annotated[int, typer.Option(help="How many messages to send.", min=1)] = 600,
    speed: Annotated[float, typer.Option(help="How much faster time goes.", min=1, max=1000)] = 60,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print plain lines instead of a live picture.")
    ] = False,
) -> None:
    """Watch a road of its own deliver to good and bad recipients. It ends by itself and counts what
    became of every message."""
    from postroad.demo.__main__ import main  # a whole road, which takes a while to load

    words = ["--messages", str(messages), "--speed", str(speed)]
    raise typer.Exit(main([*words, *["--plain"] * (plain or call.json)]))
