"""`postroad stats`: counts of messages, blocks and tries."""

from postroad.cli.charts import late_text
from postroad.cli.command import Listing, command
from postroad.cli.options import Group
from postroad.cli.printing import ago


def add(app: Group) -> None:
    """Add the command."""
    command(app, "stats", panel="Look after it")(stats)


def stats(call: Listing) -> None:
    """Count messages by state, and what holds them back."""
    said = call.ask("GET", "/v1/stats")
    if call.printed(said):
        return
    names = ("waiting", "held", "uncertain")
    shown: list[tuple[str, object]] = [(name, said[name]) for name in names]
    shown.append(("uncertain recipients of campaigns", said["uncertain_recipients"]))
    shown += [(f"dead, {reason}", count) for reason, count in said["dead"].items()]
    shown.append(("oldest due", ago(said["oldest_due_ms"], said["now_ms"])))
    trouble = ("open_circuits", "blocked_queues", "paused_queues", "disabled_endpoints")
    shown += [(name.replace("_", " "), said[name]) for name in trouble]
    for span in ("minute", "hour"):
        tries, figures = f"tries in the last {span}", said[span]
        shown += [(f"{tries}, {kind}", count) for kind, count in figures["tries"].items()]
        late = (late_text(figures[name]) for name in ("late_p50_ms", "late_p99_ms"))
        shown.append((f"lateness in the last {span}, p50 and p99", ", ".join(late)))
    call.facts(shown)
