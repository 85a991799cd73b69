"""Campaigns: how each stands, stop and resume, what is uncertain, results as a file."""

import re
from typing import Any, Final

from postroad.dashboard.acting import does
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.dashboard.passing import PassOn
from postroad.dashboard.rendering import plural
from postroad.dashboard.views import campaign_drafts as drafts
from postroad.dashboard.views.campaign_drafts import PATH, named, one

PAGE_ROWS: Final = 50
ITS: Final = f"{PATH}/{{name}}"
STATES: Final = ("unsent", "sent", "failed", "uncertain", "suppressed")


async def _table(view: PageView) -> dict[str, Any]:
    found = await view.api.get(PATH, limit=PAGE_ROWS, after=view.query.get("after"))
    after = found[-1]["id"] if len(found) == PAGE_ROWS else ""
    known = await view.api.get("/v1/credentials")
    return {"campaigns": found, "after": after, "credentials": known}


async def _story(view: PageView) -> dict[str, Any]:
    path = named(view)
    told = await view.api.get(path)
    details = await view.api.get(f"{path}/details")
    known = await view.api.get("/v1/credentials")
    used = [each for each in known if each["name"] == details["credential"]]
    return {"told": told, "details": details, "limit": used[0]["rate"] if used else ""}


async def _recipients(view: PageView) -> dict[str, Any]:
    state = view.query.get("state", "")
    asked = {"state": state if state in STATES else "", "after": view.query.get("after")}
    found = await view.api.get(f"{named(view)}/recipients", limit=PAGE_ROWS, **asked)
    after = found[-1]["n"] if len(found) == PAGE_ROWS else ""
    return {"recipients": found, "after": after, "states": STATES, "state": asked["state"]}


def file_stem(name: str) -> str:
    """The name of a campaign as that of a file: nothing that a header or a shell reads stays."""
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)[:100]


async def _export(view: PageView) -> PassOn:
    kind = "ndjson" if view.query.get("format") == "ndjson" else "csv"
    query = {"format": kind, "state": view.query.get("state", "")}
    return PassOn(f"{named(view)}/export", query, f"{file_stem(view.query.get('name', ''))}.{kind}")


async def _resume(view: PageView, form: Form) -> ActionResult:
    path, name = one(form.need("name")), form.need("name")
    override = bool(form.one("override"))
    before = await view.api.get(path)
    await view.api.do(f"{path}/resume", {"override": override})
    said = f"{name} goes on with what was certainly not sent."
    if before["state"] == "halted" and not override:
        said += f" It halts again if this still holds: {before['reason']}"
    return ActionResult(said)


async def _settle(view: PageView, form: Form) -> ActionResult:
    state = form.need("state")
    data = {"state": state, "rows": form.numbers("row")}
    settled = (await view.api.post(f"{one(form.need('name'))}/settle", data))["settled"]
    as_what = "sent" if state == "sent" else "not sent: a resume sends to them"
    return ActionResult(f"{plural(settled, 'recipient')} settled as {as_what}.")


PAGE: Final = WebPage(
    "campaigns",
    "/campaigns",
    "Campaigns",
    regions=(Region("table", _table), Region("create", drafts.offer)),
    query=("after",),
    actions={
        "/campaigns/start": does(f"POST {ITS}/start", "{name} has started."),
        "/campaigns/stop": does(
            f"POST {ITS}/stop", "{name} is stopped: no new calls start until it is resumed."
        ),
        "/campaigns/resume": _resume,
        "/campaigns/retry": does(
            f"POST {ITS}/retry",
            "{name} goes over those that certainly failed: it sends again to all that are not "
            "suppressed.",
        ),
        "/campaigns/cancel": does(f"POST {ITS}/cancel", "{name} is cancelled."),
        "/campaigns/delete": does(
            f"DELETE {ITS}",
            "{name} is deleted with its recipients and results.",
            go="/campaigns",
        ),
        "/campaigns/settle": _settle,
        "/campaigns/lookup": does(
            f"POST {ITS}/lookup", "The provider was asked: {settled:recipient} settled."
        ),
        "/campaigns/create": drafts.create,
        "/campaigns/edit": drafts.edit,
        "/campaigns/schedule": drafts.schedule,
        "/campaigns/paste": drafts.import_text,
        "/campaigns/discard": does(
            f"DELETE {ITS}/import", "What was there of the unfinished import is discarded."
        ),
        "/campaigns/test": drafts.test_send,
        "/campaigns/estimate": drafts.estimate,
    },
    uploads={"/campaigns/import": drafts.import_file},
    files={"/campaigns/export": _export, "/campaigns/html": drafts.show_html},
    group="Send",
    key="c",
)
ONE: Final = WebPage(
    "campaigns_one",
    "/campaign",
    "Campaign",
    regions=(
        Region("story", _story),
        Region("draft", drafts.preview),
        Region("recipients", _recipients),
    ),
    query=("name", "state", "row", "after"),
)
