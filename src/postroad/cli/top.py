"""`postroad top`: a live view of the road."""

import threading
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from postroad.cli.client import RoadClient
from postroad.cli.command import Invocation, command
from postroad.cli.printing import ago, as_json, out

SHOWN_MAX = 15


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "top", rich_help_panel="Look after it")(top)


def top(
    call: Invocation,
    once: Annotated[bool, typer.Option("--once", help="Print it once, and exit.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between two updates.", min=0.1)] = 1.0,
) -> None:
    """Show a live view of the road: tries a second, what waits, retry levels, blocked queues.
    Ctrl+C ends it. With --json it prints a snapshot a line."""
    pause = threading.Event()
    with call.connect() as road:
        before: dict[str, Any] | None = None
        if once or call.json:
            while True:
                look = snapshot(road)
                as_json(look) if call.json else out().print(drawn(look, None))
                if once:
                    return
                pause.wait(every)
        with Live(console=out(), screen=True, auto_refresh=False) as live:
            try:
                while True:
                    look = snapshot(road)
                    live.update(drawn(look, before), refresh=True)
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


def drawn(look: dict[str, Any], before: dict[str, Any] | None) -> Panel:
    """Draw the view. `before` is the snapshot that rates are computed against."""
    return Panel(
        Group(_head(look, before), _levels(look), _queues(look["queues"])),
        title="postroad",
        box=box.ROUNDED,
    )


def _head(look: dict[str, Any], before: dict[str, Any] | None) -> Table:
    stats = look["stats"]
    grid = Table.grid(padding=(0, 3))
    counts = [f"{stats[name]} {name}" for name in ("waiting", "held", "blocked", "uncertain")]
    counts.append(f"{sum(stats['dead'].values())} dead")
    grid.add_row(*counts)
    oldest = ago(stats["oldest_due_ms"], stats["now_ms"])
    trouble = f"{stats['open_circuits']} circuits open, {stats['blocked_queues']} queues blocked"
    grid.add_row(f"oldest due {oldest}", trouble, *_rates(stats, before))
    return grid


def _rates(stats: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    if before is None:
        return [f"{outcome} {count}" for outcome, count in stats["tries"].items()][:3]
    old = before["stats"]
    seconds = max(0.001, (stats["now_ms"] - old["now_ms"]) / 1000)
    tries = sum(stats["tries"].values()) - sum(old["tries"].values())
    asked = sum(stats["queries"].values()) - sum(old["queries"].values())
    return [f"{tries / seconds:,.0f} tries/s", f"{asked / seconds:,.0f} queries/s"]


def _levels(look: dict[str, Any]) -> Table:
    grid = Table("level", "waiting", "held", "blocked", "asked", "oldest due", box=box.SIMPLE)
    for row in look["levels"]:
        cells = [row[name] for name in ("level", "waiting", "held", "blocked", "queries")]
        grid.add_row(*map(str, cells), ago(row["oldest_due_ms"], look["stats"]["now_ms"]))
    return grid


def _queues(rows: list[dict[str, Any]]) -> Table:
    grid = Table("queue", "waiting", "held", "blocked", "dead", "because", box=box.SIMPLE)
    trouble = sorted(rows, key=lambda row: (-row["blocked"] - row["held"], -row["waiting"]))
    for row in trouble[:SHOWN_MAX]:
        why = "paused" if row["paused"] else row["block"]
        counts = [str(row[name]) for name in ("waiting", "held", "blocked", "dead")]
        grid.add_row(row["queue"], *counts, why)
    return grid
