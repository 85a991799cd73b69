"""Messages: found by filters that stand in the address; send again and cancel one, some or all."""

import asyncio
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
from postroad.dashboard.rendering import plural, plural_upto
from postroad.model.states import NEVER
from postroad.remote.api_request import part

FILTERS: Final = ("queue", "state", "level", "text", "recipient", "order_key", "since", "until")
STATES: Final = ("waiting", "held", "sending", "uncertain", "delivered", "dead", "cancelled")
FINISHED: Final = ("delivered", "dead", "cancelled")
SENDABLE: Final = ("delivered", "dead")
CHOSEN_MAX: Final = 100


async def _list(view: PageView) -> dict[str, Any]:
    filters = chosen_filters(FILTERS, view.query)
    order, after = view.query.get("order", "newest"), view.query.get("after")
    said = await view.api.get("/v1/messages", limit=50, order=order, after=after, **filters)
    return {
        **said,
        "filters": filters,
        "sendable": filters.get("state") in (*SENDABLE, None),
        "unfinished": filters.get("state") not in FINISHED,
    }


async def _jobs(view: PageView) -> dict[str, Any]:
    return {"jobs": view.jobs.of(view.who.tenant)[:5]}


async def _again(view: PageView, form: Form) -> ActionResult:
    ids = form.all("id")[:CHOSEN_MAX]
    if not ids:
        return ActionResult("Choose messages first: tick their boxes.")
    said = await view.api.post("/v1/messages:send-again", {"ids": ids})
    left = f"; {said['without_body']} had no body any more" if said["without_body"] else ""
    return ActionResult(f"{plural(said['sent'], 'message')} sent again, as new ones{left}.")


async def _cancel(view: PageView, form: Form) -> ActionResult:
    ids = form.all("id")[:CHOSEN_MAX]
    if not ids:
        return ActionResult("Choose messages first: tick their boxes.")
    paths = [f"/v1/messages/{part(one)}" for one in ids]
    ended = await asyncio.gather(*(view.api.delete(path, wait_s=1) for path in paths))
    states = [one["state"] for one in ended]
    done = states.count("cancelled")
    left = "" if done == len(ids) else f" {plural(len(ids) - done, 'other')} were being tried."
    return ActionResult(f"{plural(done, 'message')} cancelled.{left}")


async def _again_all(view: PageView, form: Form) -> ActionResult:
    """Count those that match, ask, then send them again as a job."""
    filters = chosen_filters(FILTERS, form.some(*FILTERS))
    data: dict[str, Any] = {**filters}
    if "level" in data:
        data["level"] = form.number("level")
    if not form.one("count"):
        meant = data or {"count": NEVER}  # the API takes no empty filter for all
        found = (await view.api.post("/v1/messages:send-again", {**meant, "dry_run": True}))["sent"]
        if not found:
            return ActionResult(NOTHING)
        return ActionResult("", page=QUESTION, shown=_question(found, filters))
    total = form.number("count")
    job = PageJob(view.who.tenant, "Send again", view.who.name, total, 0)
    await view.jobs.start(view.api, job, "/v1/messages:send-again", {**data, "count": total})
    go = f"/messages?{urlencode(filters)}"
    return ActionResult(f"{plural(total, 'message')}: sending again has begun.", go)


def _question(found: int, filters: dict[str, str]) -> dict[str, Any]:
    words = ", ".join(f"{name} {value}" for name, value in filters.items())
    state = filters.get("state", "delivered")  # as the API understands none
    return {
        "heading": "Send again",
        "question": f"Send {plural(found, f'{state} message')} again, as new ones?",
        "note": f"All that match: {words or f'every {state} one'} whose body is kept.",
        "path": "/messages/again-all",
        "given": {**filters, "count": str(found)},
        "ids": [],
        "label": f"Send {plural(found, 'message')} again",
        "danger": False,
    }


async def _cancel_all(view: PageView, form: Form) -> ActionResult:
    """Cancel what is unfinished in a queue, after a question with its count."""
    queue = form.need("queue")
    told = await view.api.get("/v1/queues:explain", queue=queue)
    total = sum(told["waiting"].values()) + sum(told["held"].values()) + told["uncertain"]
    many = plural_upto(total, "unfinished message")
    if not total:
        return ActionResult(NOTHING)
    if not form.one("count") or total > form.number("count"):  # others have come meanwhile
        shown = {
            "heading": "Cancel all",
            "question": f"Cancel {many} of {queue}?",
            "note": "No try of a cancelled one starts. What is being tried now may still arrive.",
            "path": "/messages/cancel-all",
            "given": {"queue": queue, "count": str(total)},
            "ids": [],
            "label": f"Cancel {plural_upto(total, 'message')}",
            "danger": True,
        }
        return ActionResult("", page=QUESTION, shown=shown)
    job = PageJob(view.who.tenant, f"Cancel all of {queue}", view.who.name, total, 0)
    await view.jobs.start(view.api, job, "/v1/messages:cancel", {"queue": queue})
    go = f"/messages?{urlencode({'queue': queue})}"
    return ActionResult(f"Cancelling {many} of {queue} has begun.", go)


PAGE: Final = WebPage(
    "messages",
    "/messages",
    "Messages",
    regions=(Region("jobs", _jobs), Region("list", _list)),
    query=(*FILTERS, "order", "after"),
    actions={
        "/messages/again": _again,
        "/messages/cancel": _cancel,
        "/messages/again-all": _again_all,
        "/messages/cancel-all": _cancel_all,
    },
    group="Deliver",
    key="m",
)
