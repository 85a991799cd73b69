"""The overview: what is where, what is in trouble and why, what was delivered, and who works."""

from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from postroad.dashboard.paging import PageView, Region, WebPage
from postroad.dashboard.plots import HOUR_MS, MINUTE_MS, deliveries, lateness, parts_of, slots
from postroad.dashboard.rendering import count, plural
from postroad.dashboard.views.failing import failing_queues, last_error

SHOWN_MAX: Final = 12
LOOKED_AT: Final = 200
"""Queues and lanes that are looked through for trouble: their lists have all."""
WEEK_H: Final = 168


class Tile(Struct, frozen=True):
    """One figure, with where it leads to."""

    name: str
    figure: int
    kind: str
    link: str
    more: str = ""
    since: int | None = None


class Trouble(Struct, frozen=True):
    """What is in trouble, and why in a sentence."""

    name: str
    text: str
    link: str
    kind: str = "warn"
    until: int | None = None


async def _states(view: PageView) -> dict[str, Any]:
    said = await view.api.get("/v1/stats")
    hour, dead = said["hour"], sum(said["dead"].values())
    due = said["oldest_due_ms"]
    late = due if due is not None and due < said["now_ms"] - MINUTE_MS else None
    delivered, put_off, failed = parts_of(hour["tries"])
    rate = f"last hour, {said['minute']['delivered_per_second']:.1f} a second now"
    beside = f"last hour, {count(put_off)} put off" if put_off else "last hour"
    tiles = [
        Tile(
            "Waiting", said["waiting"], "info", _list("waiting"), "due since" if late else "", late
        ),
        Tile("Held", said["held"], "warn", _list("held"), _blocks(said)),
        Tile("Uncertain", said["uncertain"], "warn", _list("uncertain"), "to be settled by you"),
        Tile("Delivered", delivered, "good", _list("delivered"), rate),
        Tile("Failed tries", failed, "warn", "/queues", beside),
        Tile("Dead", dead, "bad", "/dead", _dead(said["dead"])),
    ]
    return {"tiles": tiles}


def _list(state: str) -> str:
    return f"/messages?{urlencode({'state': state})}"


def _blocks(said: dict[str, Any]) -> str:
    found = [
        f"{count(said[name])} {words}"
        for name, words in (
            ("blocked_queues", "blocked"),
            ("paused_queues", "paused"),
            ("open_circuits", "away"),
        )
        if said[name]
    ]
    return ", ".join(found)


def _dead(by_reason: dict[str, int]) -> str:
    found = sorted(by_reason.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{count(number)} {reason.replace('_', ' ')}" for reason, number in found[:2])


async def _trouble(view: PageView) -> dict[str, Any]:
    said = await view.api.get("/v1/stats")
    found: list[Trouble] = []
    if said["open_circuits"]:
        found += await _lanes(view)
    if said["blocked_queues"] or said["paused_queues"] or said["held"]:
        found += await _queues(view)
    found += await _failing(view, {each.name for each in found})
    if said["uncertain"]:
        text = "may have arrived or not: say what became of them."
        found.append(Trouble(f"{count(said['uncertain'])} uncertain", text, _list("uncertain")))
    if number := said["hour"]["dead"]:
        text = f"died in the last hour. {_dead(said['dead'])} in all."
        found.append(Trouble(f"{count(number)} messages", text, "/dead", "bad"))
    late_ms = said["now_ms"] - (said["oldest_due_ms"] or said["now_ms"])
    if late_ms > MINUTE_MS and not said["delivers"]:
        text = "are due for more than a minute: is a worker running?"
        found.append(Trouble(f"{count(said['waiting'])} messages", text, _list("waiting"), "bad"))
    unfinished = said["waiting"] + said["held"] + said["uncertain"]
    quiet = not unfinished and not said["dead"] and not said["hour"]["tries"]
    return {"found": found[:SHOWN_MAX], "more": len(found) > SHOWN_MAX, "quiet": quiet}


async def _lanes(view: PageView) -> list[Trouble]:
    rows = (await view.api.get("/v1/lanes", limit=LOOKED_AT))["lanes"]
    found = []
    for row in [row for row in rows if row["circuit"]["until_ms"]][:SHOWN_MAX]:
        told = await view.api.get("/v1/lanes:explain", lane=row["id"])
        link = f"/lane?{urlencode({'id': row['id']})}"
        text = f"cannot be reached: {_sentence(row['circuit']['reason'])} {_next(told)}"
        found.append(Trouble(row["server"], text, link, "bad", told["next"]["not_before_ms"]))
    return found


async def _queues(view: PageView) -> list[Trouble]:
    rows = (await view.api.get("/v1/queues", limit=LOOKED_AT))["queues"]
    held = [row for row in rows if row["paused"] or row["block"] or _holds(row)]
    found = []
    for row in held[:SHOWN_MAX]:
        told = await view.api.get("/v1/queues:explain", queue=row["queue"])
        link = f"/queue?{urlencode({'name': row['queue']})}"
        waits = row["waiting"] + row["held"]
        why = _sentence(told["because"] or "some are held")
        text = f"has {plural(waits, 'message')} that cannot go: {why} {_next(told)}"
        kind = "bad" if row["block"] else "warn"
        found.append(Trouble(row["queue"], text, link, kind, told["next"]["not_before_ms"]))
    return found


async def _failing(view: PageView, told: set[str]) -> list[Trouble]:
    """Queues that nothing blocks and whose tries all fail."""
    failing, found = await failing_queues(view), []
    for queue in [name for name in failing.tries if name not in told][:SHOWN_MAX]:
        error = await last_error(view, queue)
        text = f"fails: {failing.sentence(queue)}{': ' if error else ''}{error}"
        found.append(Trouble(queue, text, f"/queue?{urlencode({'name': queue})}", "bad"))
    return found


def _holds(row: dict[str, Any]) -> bool:
    """Whether the queue itself holds messages: what its lane holds is told of the lane."""
    return bool(row["held"]) and not row["because"].startswith("circuit")


def _next(told: dict[str, Any]) -> str:
    return _sentence(told["next"]["why"])


def _sentence(text: str) -> str:
    """A text of ours as a sentence."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


async def _plots(view: PageView) -> dict[str, Any]:
    recent = await view.api.get("/v1/rollups", step="10s")
    until_ms = recent["complete_until_ms"] // MINUTE_MS * MINUTE_MS + MINUTE_MS
    hour = slots(recent["points"], until_ms - 60 * MINUTE_MS, MINUTE_MS, 60)
    long = await view.api.get("/v1/rollups", step="1h")
    end_ms = long["now_ms"] // HOUR_MS * HOUR_MS + HOUR_MS
    week = slots(long["points"], end_ms - WEEK_H * HOUR_MS, HOUR_MS, WEEK_H)
    return {
        "plots": [
            deliveries("hour-tries", "Tries in the last hour", hour),
            lateness("hour-late", "Lateness in the last hour", hour),
            deliveries("week-tries", "Tries in the last week", week),
            lateness("week-late", "Lateness in the last week", week),
        ]
    }


async def _workers(view: PageView) -> dict[str, Any]:
    if not view.who.every_tenant:
        return {"workers": [], "levels": []}
    workers = (await view.api.get("/v1/workers"))["workers"]
    return {"workers": workers, "levels": await view.api.get("/v1/levels")}


PAGE: Final = WebPage(
    "overview",
    "/",
    "Overview",
    regions=(
        Region("states", _states),
        Region("trouble", _trouble),
        Region("plots", _plots),
        Region("workers", _workers),
    ),
    group="Deliver",
)
