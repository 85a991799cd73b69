"""`postroad demo`: several hundred messages to good and bad recipients, in compressed time."""

from typing import Annotated

from click.exceptions import Exit

from postroad.cli.command import BareInvocation, command
from postroad.cli.options import Group, Option


def add(app: Group) -> None:
    """Add the command."""
    command(app, "demo", panel="Run")(demo)


def demo(
    _call: BareInvocation,
    messages: Annotated[int, Option(help="How many messages to send.", min=1)] = 600,
    speed: Annotated[float, Option(help="How much faster time goes.", min=1, max=1000)] = 60,
    plain: Annotated[
        bool, Option("--plain", help="Print plain lines instead of a live picture.")
    ] = False,
) -> None:
    """Watch a road of its own deliver to good and bad recipients. It ends by itself and counts what
    became of every message."""
    from postroad.demo.__main__ import main  # a whole road, which takes a while to load

    words = ["--messages", str(messages), "--speed", str(speed)]
    raise Exit(main([*words, *["--plain"] * plain]))
