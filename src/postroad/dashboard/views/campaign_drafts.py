"""Campaigns before they start: made, given recipients, looked at, tried and estimated."""

from typing import Any, Final

from postroad.api.request import Response
from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.guarding import MAIL_POLICY
from postroad.dashboard.paging import ActionResult, Form, PageView, refusal
from postroad.dashboard.rendering import lasts, plural
from postroad.remote.api_request import part

PATH: Final = "/v1/campaigns"
HTML: Final = "text/html; charset=utf-8"
TEXTS: Final = ("template", "subject", "html", "recipient", "zone")


def one(name: str) -> str:
    """The path of a campaign in the API."""
    return f"{PATH}/{part(name)}"


def named(view: PageView) -> str:
    """The path of the campaign that the address names."""
    if not (name := view.query.get("name", "")):
        raise refusal("the address names no campaign: choose one from the list")
    return one(name)


async def offer(view: PageView) -> dict[str, Any]:
    """The credentials that a new campaign may send with."""
    return {"credentials": await view.api.get("/v1/credentials")}


async def preview(view: PageView) -> dict[str, Any]:
    """The message for one recipient, of a campaign that has not started."""
    told = await view.api.get(named(view))
    row = view.query.get("row", "1")
    shown: dict[str, Any] = {"told": told, "row": row, "seen": None, "problem": ""}
    if told["counts"]["total"]:
        try:
            shown["seen"] = await view.api.get(f"{named(view)}/preview", row=row)
        except ProblemAnswer as error:
            shown["problem"] = error.problem.detail
    return shown


async def show_html(view: PageView) -> Response[Any]:
    """The HTML of a mail, for a frame in which nothing runs and nothing is fetched."""
    seen = await view.api.get(f"{named(view)}/preview", row=view.query.get("row", "1"))
    return Response(seen["html"].encode(), 200, {"content-security-policy": MAIL_POLICY}, HTML)


async def create(view: PageView, form: Form) -> ActionResult:
    """Make a draft without recipients."""
    data = {"name": form.need("name"), "credential": form.need("credential"), **form.some(*TEXTS)}
    made = await view.api.post(PATH, data)
    return ActionResult(f"{made['name']} is a draft: give it recipients.", _page(made["name"]))


async def import_text(view: PageView, form: Form) -> ActionResult:
    """Import recipients that were pasted as CSV."""
    path = f"{one(form.need('name'))}/import"
    skip = "true" if form.one("skip") else "false"
    done = await view.api.post_csv(path, form.need("csv"), skip_invalid=skip, file="pasted.csv")
    return ActionResult(f"{plural(done['rows'], 'recipient')} imported.")


async def test_send(view: PageView, form: Form) -> ActionResult:
    """Send one recipient's message to another address."""
    row = form.one("row", "1")
    data = {"to": form.need("to"), "row": int(row) if row.isdecimal() else 1}
    said = await view.api.post(f"{one(form.need('name'))}/test", data)
    return ActionResult(f"The test was {said['state']}. {said['error']}".strip())


async def estimate(view: PageView, form: Form) -> ActionResult:
    """Render all messages, and say what they cost and how long they take."""
    said = await view.api.get(f"{one(form.need('name'))}/estimate")
    parts = [
        plural(said["recipients"], "recipient"),
        plural(said["segments"], "part"),
        f"price {said['cost']:g}",
        f"{lasts(int(said['seconds'] * 1000))} at the allowed rate" if said["seconds"] else "",
        f"{said['invalid']} cannot be sent" if said["invalid"] else "",
        f"{said['suppressed']} are suppressed" if said["suppressed"] else "",
    ]
    return ActionResult(f"Estimate: {', '.join(each for each in parts if each)}.")


def _page(name: str) -> str:
    return f"/campaign?name={part(name)}"
