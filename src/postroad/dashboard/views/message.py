"""One message: what was tried, what comes next and why, and what can be done about it."""

from typing import Any, Final

import msgspec

from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.remote.api_request import part

BODY_MAX: Final = 100_000
"""Characters of a body that are shown."""
FINISHED: Final = ("delivered", "dead", "cancelled")


def _path(view: PageView) -> str:
    return f"/v1/messages/{part(view.values['id'])}"


async def _story(view: PageView) -> dict[str, Any]:
    told = await view.api.get(f"{_path(view)}/explain")
    answers = await _answers(view) if told["tries"] and view.may("bodies") else {}
    return {"told": told, "finished": told["state"] in FINISHED, "answers": answers}


async def _answers(view: PageView) -> dict[int, str]:
    """What a webhook's server answered to each try."""
    found = await view.api.get(f"{_path(view)}/attempts")
    return {one["number"]: one["answer"][:BODY_MAX] for one in found if one["answer"]}


async def _body(view: PageView) -> dict[str, Any]:
    if not view.may("bodies"):
        return {"hidden": "Bodies and headers are shown to people with the scope bodies."}
    try:
        said = await view.api.get(f"{_path(view)}/body")
    except ProblemAnswer as error:
        return {"hidden": error.problem.detail}
    if said["body_base64"] is not None:
        text, form = said["body_base64"], "base64"
    else:
        text = msgspec.json.format(msgspec.json.encode(said["body"]), indent=2).decode()
        form = "JSON"
    return {"hidden": "", "headers": said["headers"], "text": text[:BODY_MAX], "form": form}


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
    regions=(Region("story", _story), Region("body", _body)),
    actions={
        "/message/again": _again,
        "/message/replay": _replay,
        "/message/cancel": _cancel,
        "/message/settle": _settle,
    },
)
