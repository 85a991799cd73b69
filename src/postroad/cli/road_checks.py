"""The checks of `postroad doctor` that ask the road: workers, circuits, the dead set, tokens."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from postroad.api.finding import Finding
from postroad.api.road_checks import (
    DEAD_MAX,
    HOUR_MS,
    PAGE,
    check_circuits,
    check_dead,
    check_tokens,
    check_workers,
)
from postroad.cli.client import RequestRefused, RoadClient

REFUSED: Final = 403


def check_road(road: RoadClient) -> list[Finding]:
    """Ask the road how it is."""
    stats = road.ask("GET", "/v1/stats")
    lanes = road.ask("GET", "/v1/lanes", {"limit": PAGE, "trouble": "true"})["lanes"]
    now_ms = stats["now_ms"]
    since = datetime.fromtimestamp((now_ms - HOUR_MS) / 1000, UTC).isoformat()
    page = road.ask("GET", "/v1/dead", {"limit": DEAD_MAX, "since": since})
    return [
        _unless_refused("workers", lambda: check_workers(road.ask("GET", "/v1/workers"), stats)),
        check_circuits(lanes, stats),
        check_dead(stats, len(page["messages"]), more=bool(page["after"])),
        _unless_refused("tokens", lambda: check_tokens(road.ask("GET", "/v1/tokens"), now_ms)),
    ]


def _unless_refused(part: str, check: Callable[[], Finding]) -> Finding:
    """Make a check, unless the token that asks may not see what it needs."""
    try:
        return check()
    except RequestRefused as refused:
        if refused.problem.status != REFUSED:
            raise
        return Finding(part, "ok", f"not checked: {refused.problem.detail}")
