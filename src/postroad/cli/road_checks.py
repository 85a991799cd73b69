"""The checks of `postroad doctor` that ask the road: workers, circuits, the dead set, tokens."""

from datetime import UTC, datetime
from typing import Any, Final

from postroad.cli.client import RoadClient
from postroad.cli.finding import Finding
from postroad.model.wording import duration_text, moment, public_name

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
SILENT_MS: Final = 30_000
"""After this long without a sign of life a worker is lost."""
LATE_MS: Final = 60_000
"""Messages that are due for longer should have been tried."""
SOON_MS: Final = 14 * DAY_MS
PAGE: Final = 500
GROWTH_MAX: Final = 10
"""Deaths in an hour that are worth a look."""
NAMED_MAX: Final = 3


def check_road(road: RoadClient) -> list[Finding]:
    """Ask the road how it is."""
    stats = road.ask("GET", "/v1/stats")
    lanes = road.ask("GET", "/v1/lanes", {"limit": PAGE})["lanes"]
    now_ms = stats["now_ms"]
    since = datetime.fromtimestamp((now_ms - HOUR_MS) / 1000, UTC).isoformat()
    page = road.ask("GET", "/v1/dead", {"limit": PAGE, "since": since})
    return [
        check_workers(lanes, stats),
        check_circuits(lanes, stats),
        check_dead(stats, len(page["messages"]), more=bool(page["after"])),
        check_tokens(road.ask("GET", "/v1/tokens"), now_ms),
    ]


def check_workers(lanes: list[dict[str, Any]], stats: dict[str, Any]) -> Finding:
    """Check that somebody delivers what is due."""
    now_ms, due_ms = stats["now_ms"], stats["oldest_due_ms"]
    owners = {(lane["owner"]["host"], lane["owner"]["pid"]): lane["owner"] for lane in lanes
              if lane["owner"]}  # fmt: skip
    alive = [o for o in owners.values() if now_ms - o["heard_at_ms"] < SILENT_MS]
    lost = [o for o in owners.values() if now_ms - o["heard_at_ms"] >= SILENT_MS]
    if alive:
        names = _named([f"process {o['pid']} on {o['host']}" for o in alive])
        return Finding("workers", "ok", f"{len(alive)} with lanes: {names}")
    if due_ms is not None and now_ms - due_ms > LATE_MS:
        gone = "".join(f"; process {o['pid']} on {o['host']} is lost" for o in lost[:1])
        found = f"messages are due for {duration_text(now_ms - due_ms)}, nobody serves them{gone}"
        return Finding("workers", "warn", found, "start one: `postroad worker`, or `postroad up`")
    return Finding("workers", "ok", "none has lanes now, and nothing is overdue")


def check_circuits(lanes: list[dict[str, Any]], stats: dict[str, Any]) -> Finding:
    """Check that servers can be reached."""
    count = stats["open_circuits"]
    if not count:
        return Finding("circuits", "ok", "none is open")
    opened = [lane for lane in lanes if lane["circuit"]["opened"]]
    names = [f"{public_name(lane['server'])} ({lane['circuit']['reason']})" for lane in opened]
    mend = "look at those servers: probes go on by themselves; `postroad lanes` shows what waits"
    return Finding("circuits", "warn", f"{count} open: {_named(names)}", mend)


def check_dead(stats: dict[str, Any], recent: int, *, more: bool) -> Finding:
    """Check whether the dead set grows."""
    total = sum(stats["dead"].values())
    found = f"{total} messages, {recent}{' or more' if more else ''} of them in the last hour"
    if recent < GROWTH_MAX:
        return Finding("dead set", "ok", found)
    reasons = ", ".join(f"{count} {reason}" for reason, count in stats["dead"].items())
    mend = "find the reason with `postroad dead list`, repair it, then `postroad dead replay`"
    return Finding("dead set", "warn", f"{found} ({reasons})", mend)


def check_tokens(tokens: list[dict[str, Any]], now_ms: int) -> Finding:
    """Check for access tokens that end soon."""
    ending = [t for t in tokens if t["expires_at_ms"] and t["expires_at_ms"] < now_ms + SOON_MS]
    if not ending:
        return Finding("tokens", "ok", f"{len(tokens)}, none ends soon")
    names = [f"{t['name']!r} {_ends(t['expires_at_ms'], now_ms)}" for t in ending]
    mend = "make new ones with `postroad token make`, and revoke those that nobody uses"
    return Finding("tokens", "warn", _named(names), mend)


def _ends(at_ms: int, now_ms: int) -> str:
    return f"ended at {moment(at_ms)}" if at_ms <= now_ms else f"ends at {moment(at_ms)}"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + more
