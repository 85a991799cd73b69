"""The overview: what is where, what is in trouble and why, what was delivered, and who works."""

from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from postroad.dashboard.paging import PageView, Region, WebPage
from postroad.dashboard.plots import (
    BUCKET_S,
    HOUR_MS,
    MINUTE_MS,
    WEEK_FRESH_S,
    backlog,
    deliveries,
    lateness,
    parts_of,
    slots,
)
from postroad.dashboard.rendering import count, plural, upto
from postroad.dashboard.views.failing import failing_queues, last_error
from postroad.model.facts import COUNTED_MAX

SHOWN_MAX: Final = 5
"""How many lanes, queues and failing queues are shown. The lists have all, in trouble first."""
IN_TROUBLE: Final = {"trouble": "true", "limit": SHOWN_MAX + 1, "most": COUNTED_MAX}
WEEK_H: Final = 168
PROBED: Final = "Messages wait, and one at a time, a probe, finds out when it is back."


class Tile(Struct, frozen=True):
    """One figure, with where it leads to."""

    name: str
    figure: int
    kind: str
    link: str
    more: str = ""
    since: int | None = None
    least: bool = False
    """Whether it was not counted to the end."""


class Trouble(Struct, frozen=True):
    """What is in trouble, and why in a sentence."""

    name: str
    text: str
    link: str
    kind: str = "warn"
    until: int | None = None


async def _states(view: PageView) -> dict[str, Any]:
    said = await view.shared("/v1/stats", most=COUNTED_MAX)
    hour, dead = said["hour"], sum(said["dead"].values())
    due = said["oldest_due_ms"]
    late = due if due is not None and due < said["now_ms"] - MINUTE_MS else None
    delivered, put_off, failed = parts_of(hour["tries"])
    rate = f"last hour, {count(round(said['minute']['delivered_per_second'], 1))} a second now"
    beside = f"last hour, {count(put_off)} put off" if put_off else "last hour"
    tiles = [
        _counted("Waiting", said, "info", "due since" if late else "", late),
        _counted("Held", said, "warn", _blocks(said)),
        _counted("Uncertain", said, "warn", "to be settled by you"),
        Tile("Delivered", delivered, "good", _list("delivered"), rate),
        Tile("Failed tries", failed, "warn", "/queues", beside),
        Tile("Dead", dead, "bad", "/dead", _dead(said["dead"]), least=_is_least(dead, said)),
    ]
    return {"tiles": tiles}


def _counted(
    name: str, said: dict[str, Any], kind: str, more: str, since: int | None = None
) -> Tile:
    """A count of messages in a state, with where they are listed."""
    state = name.lower()
    figure = said[state]
    return Tile(name, figure, kind, _list(state), more, since, _is_least(figure, said))


def _is_least(figure: int, said: dict[str, Any]) -> bool:
    return figure >= COUNTED_MAX or not said["whole"]


def _list(state: str) -> str:
    return f"/messages?{urlencode({'state': state})}"


def _blocks(said: dict[str, Any]) -> str:
    found = [
        f"{upto(said[name])} {words}"
        for name, words in (
            ("blocked_queues", "blocked"),
            ("paused_queues", "paused"),
            ("disabled_endpoints", "disabled"),
            ("open_circuits", "away"),
        )
        if said[name]
    ]
    return ", ".join(found)


def _dead(by_reason: dict[str, int]) -> str:
    found = sorted(by_reason.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{upto(number)} {reason.replace('_', ' ')}" for reason, number in found[:2])


async def _trouble(view: PageView) -> dict[str, Any]:
    said = await view.shared("/v1/stats", most=COUNTED_MAX)
    found: list[Trouble] = []
    more = False
    for some, left in (await _lanes(view), await _queues(view)):
        found += some
        more |= left
    failing, left = await _failing(view, {each.name for each in found})
    found += failing
    more |= left
    if said["uncertain"]:
        text = "may have arrived or not: say what became of them."
        found.append(
            Trouble(f"{upto(said['uncertain'], said['whole'])} uncertain", text, _list("uncertain"))
        )
    if number := said["hour"]["dead"]:
        text = f"died in the last hour. {_dead(said['dead'])} in all."
        found.append(Trouble(f"{count(number)} messages", text, "/dead", "bad"))
    late_ms = said["now_ms"] - (said["oldest_due_ms"] or said["now_ms"])
    if late_ms > MINUTE_MS and not said["delivers"]:
        text = "are due for more than a minute: is a worker running?"
        found.append(
            Trouble(
                f"{upto(said['waiting'], said['whole'])} messages", text, _list("waiting"), "bad"
            )
        )
    unfinished = said["waiting"] + said["held"] + said["uncertain"]
    quiet = not unfinished and not said["dead"] and not said["hour"]["tries"]
    return {"found": found, "more": more, "quiet": quiet and await _is_new(view)}


async def _is_new(view: PageView) -> bool:
    """Whether no message is known, also none that was delivered."""
    return not (await view.api.get("/v1/messages", limit=1))["messages"]


async def _lanes(view: PageView) -> tuple[list[Trouble], bool]:
    """Lanes in trouble, and whether there are more."""
    rows = (await view.api.get("/v1/lanes", **IN_TROUBLE))["lanes"]
    found = []
    for row in rows[:SHOWN_MAX]:
        told = await view.api.get("/v1/lanes:explain", lane=row["id"])
        link = f"/lane?{urlencode({'id': row['id']})}"
        text, kind = "is paused: no try starts on any of its queues.", "warn"
        if row["circuit"]["until_ms"]:
            text = f"cannot be reached: {row['circuit']['reason']}. {PROBED}"
            kind = "bad"
        found.append(Trouble(row["server"], text, link, kind, told["next"]["not_before_ms"]))
    return found, len(rows) > SHOWN_MAX


async def _queues(view: PageView) -> tuple[list[Trouble], bool]:
    """Queues in trouble, and whether there are more."""
    rows = (await view.api.get("/v1/queues", **IN_TROUBLE))["queues"]
    found = []
    for row in rows[:SHOWN_MAX]:
        told = await view.api.get("/v1/queues:explain", queue=row["queue"])
        link = f"/queue?{urlencode({'name': row['queue']})}"
        waits = row["waiting"] + row["held"]
        why = _sentence(told["because"] or "some are held")
        text = f"has {_messages(waits)} that cannot go: {why} {_next(told)}"
        kind = "bad" if row["block"] else "warn"
        found.append(Trouble(row["queue"], text, link, kind, told["next"]["not_before_ms"]))
    return found, len(rows) > SHOWN_MAX


async def _failing(view: PageView, told: set[str]) -> tuple[list[Trouble], bool]:
    """Queues that nothing blocks and whose tries all fail, and whether there are more."""
    failing, found = await failing_queues(view), []
    names = [name for name in failing.tries if name not in told]
    for queue in names[:SHOWN_MAX]:
        error = await last_error(view, queue)
        text = f"fails: {failing.sentence(queue)}{': ' if error else ''}{error}"
        found.append(Trouble(queue, text, f"/queue?{urlencode({'name': queue})}", "bad"))
    return found, len(names) > SHOWN_MAX


def _messages(number: int) -> str:
    """Return a number of messages in words, counted up to a maximum."""
    least = number >= COUNTED_MAX
    return f"{count(number)} or more messages" if least else plural(number, "message")


def _next(told: dict[str, Any]) -> str:
    return _sentence(told["next"]["why"])


def _sentence(text: str) -> str:
    """A text of ours as a sentence."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


async def _plots(view: PageView) -> dict[str, Any]:
    recent = await _figures(view, "10s", HOUR_MS + MINUTE_MS)
    until_ms = recent["complete_until_ms"] // MINUTE_MS * MINUTE_MS + MINUTE_MS
    hour = slots(recent["points"], until_ms - 60 * MINUTE_MS, MINUTE_MS, 60)
    return {
        "plots": [
            deliveries("hour-tries", "Tries in the last hour", hour),
            lateness("hour-late", "Lateness in the last hour", hour),
        ]
    }


async def _week(view: PageView) -> dict[str, Any]:
    long = await _figures(view, "1h", WEEK_H * HOUR_MS)
    end_ms = long["now_ms"] // HOUR_MS * HOUR_MS + HOUR_MS
    week = slots(long["points"], end_ms - WEEK_H * HOUR_MS, HOUR_MS, WEEK_H)
    return {
        "plots": [
            deliveries("week-tries", "Tries in the last week", week),
            lateness("week-late", "Lateness in the last week", week),
        ]
    }


async def _figures(view: PageView, step: str, last_ms: int) -> Any:
    since = datetime.fromtimestamp((view.api.now_ms() - last_ms) / 1000, UTC).isoformat()
    return await view.api.get("/v1/rollups", step=step, since=since)


async def _workers(view: PageView) -> dict[str, Any]:
    if not view.who.every_tenant:
        return {"workers": []}
    return {"workers": (await view.api.get("/v1/workers"))["workers"]}


async def _levels(view: PageView) -> dict[str, Any]:
    levels = await view.api.get("/v1/levels", most=COUNTED_MAX)
    waiting, held = ({one["level"]: one[state] for one in levels} for state in ("waiting", "held"))
    whole = all(one["whole"] for one in levels)
    return {"levels": levels, "drawn": backlog("levels", waiting, held, whole=whole)}


PAGE: Final = WebPage(
    "overview",
    "/",
    "Overview",
    regions=(
        Region("states", _states),
        Region("trouble", _trouble),
        Region("plots", _plots, fresh_s=BUCKET_S),
        Region("week", _week, fresh_s=WEEK_FRESH_S),
        Region("workers", _workers),
        Region("levels", _levels),
    ),
    group="Deliver",
    key="o",
)
