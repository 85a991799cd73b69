"""`postroad stats` and `postroad demo`."""

import typer

from postroad.cli.command import Invocation, command
from postroad.cli.printing import ago, as_json, facts


def add(app: typer.Typer) -> None:
    """These commands."""
    command(app, "stats", rich_help_panel="Look after it")(stats)


def stats(call: Invocation) -> None:
    """How many messages stand where, and what stands in their way."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/stats")
    if call.json:
        as_json(said)
        return
    names = ("waiting", "held", "blocked", "uncertain")
    shown: list[tuple[str, object]] = [(name, said[name]) for name in names]
    shown += [(f"dead, {reason}", count) for reason, count in said["dead"].items()]
    shown.append(("oldest due", ago(said["oldest_due_ms"], said["now_ms"])))
    trouble = ("open_circuits", "blocked_queues", "paused_queues")
    shown += [(name.replace("_", " "), said[name]) for name in trouble]
    shown += [(f"tries, {outcome}", count) for outcome, count in said["tries"].items()]
    facts(shown)
