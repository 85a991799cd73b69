"""One message: what was tried, what comes next and why, and what can be done about it."""

from typing import Any, Final

from postroad.dashboard.asking import ProblemAnswer, can_send_again
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.dashboard.rendering import pretty
from postroad.model.batch import HEADER
from postroad.model.endpoint import QUEUE_PREFIX
from postroad.remote.api_request import part

BODY_MAX: Final = 100_000
"""Characters of a body that are shown."""
NO_JOB: Final = {"kept": False, "result": None, "progress": None, "failures": (), "hidden": ""}
FINISHED: Final = ("delivered", "dead", "cancelled")


def _path(view: PageView) -> str:
    return f"/v1/messages/{part(view.values['id'])}"


async def _story(view: PageView) -> dict[str, Any]:
    told = await view.api.get(f"{_path(view)}/explain")
    finished = told["state"] in FINISHED
    return {
        "told": told,
        "finished": finished,
        "can_again": finished and view.may("manage") and await can_send_again(view.api, told["id"]),
        "seen": await _seen(view) if told["tries"] else {},
        "url": await _url(view, told["queue"]),
    }


async def _seen(view: PageView) -> dict[int, dict[str, Any]]:
    """What the log has of each try of a webhook: the request, the answer, how long it took."""
    found = await view.api.get(f"{_path(view)}/attempts")
    return {one["number"]: {**one, "answer": one["answer"][:BODY_MAX]} for one in found}


async def _url(view: PageView, queue: str) -> str:
    """Where the tries of a webhook go: to the queue's name, or to its endpoint's URL as it is."""
    if not queue.startswith(QUEUE_PREFIX):
        return queue if queue.startswith(("https://", "http://")) else ""
    try:
        told = await view.api.get(f"/v1/endpoints/{part(queue.removeprefix(QUEUE_PREFIX))}")
    except ProblemAnswer:  # deleted since
        return ""
    return str(told["url"])


async def _job(view: PageView) -> dict[str, Any]:
    """What a job has told while it ran and when it ended; nothing of a webhook."""
    try:
        end = NO_JOB | await view.api.get(f"{_path(view)}/result", wait_s=0)
    except ProblemAnswer:  # a road on RabbitMQ keeps no results
        return {"end": NO_JOB, "result": ""}
    result = pretty(end["result"])[:BODY_MAX] if end["kept"] and not end["hidden"] else ""
    return {"end": end, "result": result}


async def _body(view: PageView) -> dict[str, Any]:
    if not view.may("bodies"):
        hidden = "Bodies and headers are shown to people with the scope bodies."
        return {"hidden": hidden, "batch": None}
    try:
        said = await view.api.get(f"{_path(view)}/body")
    except ProblemAnswer as error:
        return {"hidden": error.problem.detail, "batch": None}
    if said["body_base64"] is not None:
        text, form = said["body_base64"], "base64"
    else:
        text, form = pretty(said["body"]), "JSON"
    shown = {"hidden": "", "headers": said["headers"], "text": text[:BODY_MAX], "form": form}
    return {**shown, "batch": await _batch(view, said["headers"].get(HEADER, ""))}


async def _batch(view: PageView, name: str) -> Any:
    """How the batch stands that a message is a member of; None if it is of none."""
    try:
        return await view.api.get(f"/v1/batches/{part(name)}") if name else None
    except ProblemAnswer:  # forgotten since, or a stranger's header
        return None


async def _again(view: PageView, form: Form) -> ActionResult:
    said = await view.api.post("/v1/messages:send-again", {"ids": [form.need("id")]})
    if not said["ids"]:
        return ActionResult("Its body was not kept: it cannot be sent again.")
    return ActionResult("Sent again: this is the new message.", f"/messages/{said['ids'][0]}")


async def _replay(view: PageView, form: Form) -> ActionResult:
    mode = form.one("mode", "once")
    await view.api.do("/v1/dead:replay", {"ids": [form.need("id")], "mode": mode})
    return ActionResult(
        "It goes out again: " + ("once more." if mode == "once" else "with all retries.")
    )


async def _cancel(view: PageView, form: Form) -> ActionResult:
    said = await view.api.delete(f"/v1/messages/{part(form.need('id'))}", wait_s=5)
    if said["state"] == "cancelled":
        return ActionResult("Cancelled: no try of it starts any more.")
    return ActionResult("It is being tried at this moment: look again when that has ended.")


async def _settle(view: PageView, form: Form) -> ActionResult:
    outcome = form.need("outcome")
    await view.api.do(f"/v1/messages/{part(form.need('id'))}/settle", {"outcome": outcome})
    return ActionResult(
        "Settled: it was sent." if outcome == "sent" else "Settled: it is tried again."
    )


PAGE: Final = WebPage(
    "messages_one",
    "/messages/{id}",
    "Message",
    regions=(Region("story", _story), Region("job", _job), Region("body", _body)),
    actions={
        "/message/again": _again,
        "/message/replay": _replay,
        "/message/cancel": _cancel,
        "/message/settle": _settle,
    },
)
