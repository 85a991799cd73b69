"""The dead set: by reason and by error; replay and purge, of one, some or all that match."""

from collections import Counter
from typing import Any, Final
from urllib.parse import urlencode

from postroad.dashboard.jobs import PageJob
from postroad.dashboard.paging import (
    NOTHING,
    QUESTION,
    ActionResult,
    Form,
    PageView,
    Region,
    WebPage,
    chosen_filters,
)
from postroad.dashboard.rendering import plural
from postroad.model.facts import COUNTED_MAX
from postroad.model.states import NEVER

FILTERS: Final = ("queue", "reason", "error", "since", "until")
ERRORS_SHOWN: Final = 8
LOOKED_AT: Final = 500
"""The latest dead that errors are counted of."""
ERROR_CHARACTERS: Final = 120


async def _groups(view: PageView) -> dict[str, Any]:
    reasons = (await view.shared("/v1/stats", most=COUNTED_MAX))["dead"]
    latest = (await view.api.get("/v1/dead", limit=LOOKED_AT))["messages"]
    errors = Counter(one["error"][:ERROR_CHARACTERS] for one in latest)
    return {
        "reasons": sorted(reasons.items(), key=lambda pair: -pair[1]),
        "errors": errors.most_common(ERRORS_SHOWN),
        "kinds": len(errors),
        "looked_at": len(latest),
        "whole": len(latest) < LOOKED_AT,
    }


async def _list(view: PageView) -> dict[str, Any]:
    filters = chosen_filters(FILTERS, view.query)
    said = await view.api.get("/v1/dead", limit=50, after=view.query.get("after"), **filters)
    return {**said, "filters": filters}


async def _jobs(view: PageView) -> dict[str, Any]:
    return {"jobs": view.jobs.of(view.who.tenant)[:5]}


async def _replay(view: PageView, form: Form) -> ActionResult:
    return await _change(view, form, "replay")


async def _purge(view: PageView, form: Form) -> ActionResult:
    return await _change(view, form, "purge")


async def _change(view: PageView, form: Form, verb: str) -> ActionResult:
    """Count what is meant, ask, then do it as a job."""
    ids, filters = form.all("id"), chosen_filters(FILTERS, form.some(*FILTERS))
    if form.one("which") == "chosen":
        if not ids:
            return ActionResult("Choose messages first: tick their boxes.")
        filters = {}
    which: dict[str, Any] = {"ids": ids} if ids and form.one("which") != "all" else {**filters}
    path = f"/v1/dead:{verb}"
    if not form.one("count"):
        meant = which or {"count": NEVER}  # the API takes no empty filter for all
        found = (await view.api.post(path, {**meant, "dry_run": True}))["count"]
        if not found:
            return ActionResult(NOTHING)
        return ActionResult("", page=QUESTION, shown=_question(verb, found, which))
    total = form.number("count")
    data = which if "ids" in which else {**which, "count": total}
    if verb == "replay":
        data["mode"] = form.one("mode", "once")
    title = "Replay" if verb == "replay" else "Purge"
    job = PageJob(view.who.tenant, title, view.who.name, total, 0)
    await view.jobs.start(view.api, job, path, data)
    go = "/dead" if "ids" in which else f"/dead?{urlencode(filters)}".rstrip("?")
    return ActionResult(f"{title} of {plural(total, 'message')} has begun.", go)


def _question(verb: str, found: int, which: dict[str, Any]) -> dict[str, Any]:
    purge = verb == "purge"
    given = {name: value for name, value in which.items() if name != "ids"}
    words = ", ".join(f"{name} {value}" for name, value in given.items()) or "the whole dead set"
    many = plural(found, "dead message")
    return {
        "heading": "Purge" if purge else "Replay",
        "question": f"Delete {many} for good?" if purge else f"Try {many} again?",
        "note": "" if "ids" in which else f"All that match: {words}.",
        "path": f"/dead/{verb}",
        "given": {**given, "count": str(found), "which": "given"},
        "ids": which.get("ids", []),
        "label": f"Delete {many}" if purge else f"Try {many} again",
        "danger": purge,
    }


PAGE: Final = WebPage(
    "dead",
    "/dead",
    "Dead set",
    regions=(Region("jobs", _jobs), Region("groups", _groups), Region("list", _list)),
    query=(*FILTERS, "after"),
    actions={"/dead/replay": _replay, "/dead/purge": _purge},
    group="Deliver",
    key="d",
)
