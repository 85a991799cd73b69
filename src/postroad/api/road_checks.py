"""Checks of a road by what it says: workers, circuits, the dead set, tokens."""

from typing import Any, Final

from postroad.api.finding import Finding
from postroad.model.states import NEVER
from postroad.model.wording import duration_text, moment, public_name

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
LATE_MS: Final = 60_000
"""Messages that are due for longer should have been tried."""
SOON_MS: Final = 14 * DAY_MS
PAGE: Final = 500
DEAD_MAX: Final = 100
"""Of the last hour: more are not told one by one."""
GROWTH_MAX: Final = 10
"""Deaths in an hour that are worth a look."""
NAMED_MAX: Final = 3
LOST: Final = "lost"


def check_workers(said: dict[str, Any], stats: dict[str, Any]) -> Finding:
    """Check that somebody delivers what is due, and that nobody was lost lately."""
    workers = said["workers"]
    now_ms, due_ms = stats["now_ms"], stats["oldest_due_ms"]
    alive = [_worker(one) for one in workers if one["state"] != LOST]
    lost = [one for one in workers if one["state"] == LOST]
    lately = [_worker(one) for one in lost if now_ms - one["heard_at_ms"] < HOUR_MS]
    found = f"{len(alive)} alive: {_named(alive)}" if alive else "none is alive"
    if lately:
        found += f"; lost in the last hour: {_named(lately)}"
    if not alive and due_ms is not None and now_ms - due_ms > LATE_MS:
        found += f"; messages are due for {duration_text(now_ms - due_ms)}"
        return Finding("workers", "warn", found, "start one: `postroad worker`, or `postroad up`")
    if lately:
        mend = "find out why: its log, or the system's (was it killed, out of memory?)"
        return Finding("workers", "warn", found, mend)
    return Finding("workers", "ok", found)


def _worker(one: dict[str, Any]) -> str:
    return f"process {one['pid']} on {one['host']}"


def check_circuits(
    lanes: list[dict[str, Any]], stats: dict[str, Any], most: int = NEVER
) -> Finding:
    """Check that servers can be reached. `most` is how far was counted."""
    count = stats["open_circuits"]
    if not count:
        return Finding("circuits", "ok", "none is open")
    opened = [lane for lane in lanes if lane["circuit"]["opened"]][:NAMED_MAX]
    names = [f"{public_name(lane['server'])} ({lane['circuit']['reason']})" for lane in opened]
    left = "more" if count >= most else f"{count - len(names)} more"
    more = f" and {left}" if count > len(names) else ""
    mend = "look at those servers: probes go on by themselves; `postroad lanes` shows what waits"
    found = f"{_upto(count, most)} open: {', '.join(names)}{more}"
    return Finding("circuits", "warn", found, mend)


def check_dead(stats: dict[str, Any], recent: int, *, more: bool, most: int = NEVER) -> Finding:
    """Check whether the dead set grows. `most` is how far was counted."""
    total = sum(stats["dead"].values())
    count = "1 message" if total == 1 else f"{_upto(total, most)} messages"
    found = f"{count}, {recent}{' or more' if more else ''} of them in the last hour"
    if recent < GROWTH_MAX:
        return Finding("dead set", "ok", found)
    counted = stats["dead"].items()
    reasons = ", ".join(f"{_upto(count, most)} {reason}" for reason, count in counted)
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


def _upto(count: int, most: int) -> str:
    return f"{count} or more" if count >= most else str(count)


def _ends(at_ms: int, now_ms: int) -> str:
    return f"ended at {moment(at_ms)}" if at_ms <= now_ms else f"ends at {moment(at_ms)}"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + more
