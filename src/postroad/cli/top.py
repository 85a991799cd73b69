"""`postroad top`: a live view of the road."""

import threading
from typing import Annotated, Any

from postroad.cli.client import RoadClient
from postroad.cli.command import Invocation, command
from postroad.cli.options import Group, Option
from postroad.cli.printing import ago, as_json, grid, out

SHOWN_MAX = 15


def add(app: Group) -> None:
    """Add the command."""
    command(app, "top", panel="Look after it")(top)


def top(
    call: Invocation,
    once: Annotated[bool, Option("--once", help="Print it once, and exit.")] = False,
    every: Annotated[float, Option(help="Seconds between two updates.", min=0.1)] = 1.0,
) -> None:
    """Show a live view of the road: tries a second, what waits, what is held and why, retry levels.
    Ctrl+C ends it. With --json it prints a snapshot a line."""
    pause = threading.Event()
    with call.connect() as road:
        before: dict[str, Any] | None = None
        if once or call.json:
            while True:
                look = snapshot(road)
                as_json(look) if call.json else out().print("\n".join(drawn(look, None)))
                if once:
                    return
                pause.wait(every)
        try:
            while True:
                look = snapshot(road)
                out().redraw(drawn(look, before))
                before = look
                pause.wait(every)
        except KeyboardInterrupt:
            return


def snapshot(road: RoadClient) -> dict[str, Any]:
    """Ask the road for everything that is shown."""
    return {
        "stats": road.ask("GET", "/v1/stats"),
        "levels": road.ask("GET", "/v1/levels"),
        "queues": road.ask("GET", "/v1/queues", {"limit": 500})["queues"],
    }


def drawn(look: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    """The lines of the view."""
    stats = look["stats"]
    counts = [f"{stats[name]} {name}" for name in ("waiting", "held", "uncertain")]
    counts.append(f"{sum(stats['dead'].values())} dead")
    oldest = ago(stats["oldest_due_ms"], stats["now_ms"])
    trouble = f"{stats['open_circuits']} circuits open, {stats['blocked_queues']} queues blocked"
    second = [f"oldest due {oldest}", trouble, *_rates(stats, before)]
    return [
        "   ".join(["postroad", *counts]),
        "   ".join(second),
        "",
        *_levels(look),
        "",
        *_queues(look["queues"]),
    ]


def _rates(stats: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    if before is None:
        return [f"{outcome} {count}" for outcome, count in stats["tries"].items()][:3]
    old = before["stats"]
    seconds = max(0.001, (stats["now_ms"] - old["now_ms"]) / 1000)
    tries = sum(stats["tries"].values()) - sum(old["tries"].values())
    asked = sum(stats["queries"].values()) - sum(old["queries"].values())
    return [f"{tries / seconds:,.0f} tries/s", f"{asked / seconds:,.0f} queries/s"]


def _levels(look: dict[str, Any]) -> list[str]:
    names = ("level", "waiting", "held", "queries")
    now_ms = look["stats"]["now_ms"]
    rows = [
        [*(row[name] for name in names), ago(row["oldest_due_ms"], now_ms)]
        for row in look["levels"]
    ]
    return grid(("level#", "waiting#", "held#", "queries#", "oldest due"), rows)


def _queues(rows: list[dict[str, Any]]) -> list[str]:
    names = ("waiting", "held", "dead")
    trouble = sorted(rows, key=lambda row: (-row["held"], -row["waiting"]))
    shown = [
        [row["queue"], *(row[name] for name in names), row["because"]]
        for row in trouble[:SHOWN_MAX]
    ]
    return grid(("queue~", *(f"{name}#" for name in names), "because~"), shown)
