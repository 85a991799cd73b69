"""Mailboxes of the hub: what lies in each; make and delete one."""

from typing import Any, Final

from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.remote.api_request import part


async def _table(view: PageView) -> dict[str, Any]:
    after = view.query.get("after")
    shown: dict[str, Any] = await view.api.get("/v1/mailboxes", limit=50, after=after)
    try:
        hub = await view.api.get("/v1/hub") if view.who.every_tenant else None
    except ProblemAnswer:  # another process runs it
        hub = None
    return {**shown, "hub": hub}


async def _create(view: PageView, form: Form) -> ActionResult:
    asked = {"quota": form.number("quota")} if form.one("quota") else {}
    made = await view.api.post("/v1/mailboxes", asked)
    shown = {
        "heading": f"Mailbox {made['box']}",
        "name": "Token of the sender, then of the recipient",
        "secret": f"{made['sender_token']}\n{made['recipient_token']}",
        "note": "Only their hashes are stored: they are not shown again.",
        "go": "/mailboxes",
    }
    return ActionResult("The mailbox is made.", page="secret.html", shown=shown)


async def _delete(view: PageView, form: Form) -> ActionResult:
    box = form.need("box")
    _ = await view.api.delete(f"/v1/mailboxes/{part(box)}")  # a refusal is raised
    return ActionResult(f"The mailbox {box} is deleted, with all that was in it.")


PAGE: Final = WebPage(
    "mailboxes",
    "/mailboxes",
    "Mailboxes",
    regions=(Region("table", _table),),
    actions={"/mailboxes/create": _create, "/mailboxes/delete": _delete},
    group="Send",
)
