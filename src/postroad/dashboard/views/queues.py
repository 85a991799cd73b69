"""Queues: what waits in each, what holds it, pause, resume and unblock."""

from typing import Any, Final

from postroad.dashboard.acting import does
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.dashboard.plots import backlog_of
from postroad.dashboard.views.failing import failing_queues, last_error
from postroad.model.facts import COUNTED_MAX


async def _table(view: PageView) -> dict[str, Any]:
    shown: dict[str, Any] = await view.api.get(
        "/v1/queues", limit=50, most=COUNTED_MAX, after=view.query.get("after")
    )
    return {**shown, "failing": await failing_queues(view)}


async def _story(view: PageView) -> dict[str, Any]:
    queue = view.query.get("name", "")
    told = await view.api.get("/v1/queues:explain", queue=queue)
    failing = (await failing_queues(view)).sentence(queue)
    error = await last_error(view, queue) if failing else ""
    return {"told": told, "failing": failing, "error": error, "drawn": backlog_of(told)}


async def _limit(view: PageView, form: Form) -> ActionResult:
    queue, rate = form.need("queue"), form.one("rate").strip()
    await view.api.do("/v1/queues:limit", {"queue": queue, "rate": rate or None})
    said = f"At most {rate} of {queue} are tried." if rate else f"The limit of {queue} is lifted."
    return ActionResult(said)


def _which(form: Form) -> dict[str, Any]:
    return {"queue": form.need("queue")}


PAGE: Final = WebPage(
    "queues",
    "/queues",
    "Queues",
    regions=(Region("table", _table),),
    query=("after",),
    actions={
        "/queues/pause": does(
            "POST /v1/queues:pause",
            "{queue} is paused: messages are accepted, and no try starts.",
            _which,
        ),
        "/queues/resume": does("POST /v1/queues:resume", "{queue} goes on.", _which),
        "/queues/unblock": does(
            "POST /v1/queues:unblock",
            "The block of {queue} is lifted: its next message is tried now.",
            _which,
        ),
        "/queues/limit": _limit,
    },
    group="Deliver",
    key="q",
)
ONE: Final = WebPage(
    "queues_one", "/queue", "Queue", regions=(Region("story", _story),), query=("name",)
)
