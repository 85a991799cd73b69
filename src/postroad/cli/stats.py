"""`postroad stats` and `postroad demo`."""

from postroad.cli.frame import CommandCall, command
from postroad.cli.options import Group
from postroad.cli.printing import ago, as_json, facts


def add(app: Group) -> None:
    """These commands."""
    command(app, "stats", panel="Look after it")(stats)


def stats(call: CommandCall) -> None:
    """How many messages stand where, and what stands in their way."""
    with call.reach() as road:
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
