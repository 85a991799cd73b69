"""Mailboxes of the hub: what lies in each; make and delete one."""

from typing import Any, Final

from postroad.dashboard.acting import does, shown_once
from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage


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
    secrets = f"{made['sender_token']}\n{made['recipient_token']}"
    return shown_once(
        "The mailbox is made.",
        f"Mailbox {made['box']}",
        ("Token of the sender, then of the recipient", secrets),
        "Only their hashes are stored: they are not shown again.",
        "/mailboxes",
    )


PAGE: Final = WebPage(
    "mailboxes",
    "/mailboxes",
    "Mailboxes",
    regions=(Region("table", _table),),
    query=("after",),
    actions={
        "/mailboxes/create": _create,
        "/mailboxes/delete": does(
            "DELETE /v1/mailboxes/{box}",
            "The mailbox {box} is deleted, with all that was in it.",
        ),
    },
    group="Send",
    key="b",
)
