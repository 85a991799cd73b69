"""`postroad top`: a live view of the road."""

import shutil
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from postroad.cli.client import RequestRefused, RoadClient
from postroad.cli.command import Invocation, command
from postroad.cli.options import Group, Option
from postroad.cli.printing import as_json, cut, err, out
from postroad.cli.top_view import Look, drawn
from postroad.cli.watching import answered, pause
from postroad.model.errors import NotOnRabbitMQ
from postroad.model.problem import kind
from postroad.model.terminal_text import escaped_line

MINUTES: Final = 20
"""How far back its sparkline reaches on the widest terminal."""
FIGURES_MS: Final = 5_000
"""A bucket has ten seconds: figures are asked for no more often than this."""
REFUSED: Final = 403
PIPE: Final = (10_000, 200)
"""Columns and lines where there is no terminal."""


def add(app: Group) -> None:
    """Add the command."""
    command(app, "top", panel="Look after it")(top)


def top(
    call: Invocation,
    once: Annotated[bool, Option("--once", help="Print it once, and exit.")] = False,
    every: Annotated[float, Option(help="Seconds between two updates.", min=0.1)] = 1.0,
) -> None:
    """Show a live view of the whole fleet: what is in trouble and why, lanes and queues, tries a
    second, workers. Ctrl+C ends it. While its server is restarted it waits, and says so. With
    --json it prints a snapshot a line."""
    with call.connect() as road:
        look = snapshot(road, None)
        if once:
            as_json(look) if call.json else out().print("\n".join(_lines(look)))
            return
        view = LiveView(as_lines=call.json)
        try:
            while True:
                view.show(look)
                pause(every)
                before = look
                look = answered(lambda: snapshot(road, before), view.away)  # noqa: B023
        except KeyboardInterrupt:
            return


class LiveView:
    """Draws one look after the other; while there are none the last one, and why."""

    def __init__(self, *, as_lines: bool) -> None:
        self._as_lines = as_lines
        self._look: Look | None = None

    def show(self, look: Look) -> None:
        """Draw a look."""
        self._look = look
        as_json(look) if self._as_lines else out().redraw(_lines(look))

    def away(self, why: str) -> None:
        """Say why there is no news."""
        if self._as_lines:
            err().print(why)
        elif self._look is not None:
            first = cut(escaped_line(f"! {why}"), shutil.get_terminal_size().columns)
            out().redraw([first, *_lines(self._look)[:-1]])


def _lines(look: Look) -> list[str]:
    if not out().is_terminal:  # nothing is cut in a pipe
        return drawn(look, *PIPE)
    size = shutil.get_terminal_size()
    return drawn(look, size.columns, size.lines - 1)


def snapshot(road: RoadClient, before: Look | None) -> dict[str, Any]:
    """Ask the road for everything that is shown."""
    stats = road.ask("GET", "/v1/stats")
    return {
        "stats": stats,
        "levels": road.ask("GET", "/v1/levels"),
        "queues": road.ask("GET", "/v1/queues", {"limit": 500})["queues"],
        "lanes": road.ask("GET", "/v1/lanes", {"limit": 500})["lanes"],
        "workers": _workers(road),
        "jobs": _jobs(road),
        "figures": _figures(road, before, stats["now_ms"]),
    }


def _figures(road: RoadClient, before: Look | None, now_ms: int) -> Any:
    if before is not None and now_ms - before["figures"]["now_ms"] < FIGURES_MS:
        return before["figures"]
    since = datetime.fromtimestamp(now_ms / 1000, UTC) - timedelta(minutes=MINUTES)
    query = {"since": since.isoformat(), "by": "family", "names": 20}
    return road.ask("GET", "/v1/rollups", query)


def _jobs(road: RoadClient) -> Any:
    """Return the running jobs; None on a road that keeps no progress, as on RabbitMQ."""
    try:
        return road.ask("GET", "/v1/jobs", {"limit": 100})
    except RequestRefused as refused:
        if refused.problem.type != kind(NotOnRabbitMQ):
            raise
        return None


def _workers(road: RoadClient) -> Any:
    """Return the workers; None for a tenant's token, which may not see them."""
    try:
        return road.ask("GET", "/v1/workers")["workers"]
    except RequestRefused as refused:
        if refused.problem.status != REFUSED:
            raise
        return None
