"""Campaigns: how each stands, stop and resume, what is uncertain, results as a file."""

from typing import Any, Final

from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.dashboard.passing import PassOn
from postroad.dashboard.rendering import plural
from postroad.dashboard.views import campaign_drafts as drafts
from postroad.dashboard.views.campaign_drafts import PATH, named, one

PAGE_ROWS: Final = 50
STATES: Final = ("unsent", "sent", "failed", "uncertain", "suppressed")


async def _table(view: PageView) -> dict[str, Any]:
    found = await view.api.get(PATH, limit=PAGE_ROWS, after=view.query.get("after"))
    after = found[-1]["id"] if len(found) == PAGE_ROWS else ""
    return {"campaigns": found, "after": after}


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


async def _export(view: PageView) -> PassOn:
    kind = "ndjson" if view.query.get("format") == "ndjson" else "csv"
    query = {"format": kind, "state": view.query.get("state", "")}
    return PassOn(f"{named(view)}/export", query, f"campaign.{kind}")


async def _start(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    await view.api.do(f"{one(name)}/start", None)
    return ActionResult(f"{name} has started.")


async def _stop(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    await view.api.do(f"{one(name)}/stop", None)
    return ActionResult(f"{name} is stopped: no new calls start until it is resumed.")


async def _resume(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    await view.api.do(f"{one(name)}/resume", {"override": bool(form.one("override"))})
    return ActionResult(f"{name} goes on with what was certainly not sent.")


async def _retry(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    await view.api.do(f"{one(name)}/retry", None)
    return ActionResult(f"{name} sends again to those that certainly failed.")


async def _cancel(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    await view.api.do(f"{one(name)}/cancel", None)
    return ActionResult(f"{name} is cancelled.")


async def _delete(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    _ = await view.api.delete(one(name))  # a refusal is raised
    return ActionResult(f"{name} is deleted with its recipients and results.", "/campaigns")


async def _settle(view: PageView, form: Form) -> ActionResult:
    state = form.need("state")
    rows = [int(n) for n in form.all("row") if n.isdecimal()]
    data = {"state": state, "rows": rows}
    settled = (await view.api.post(f"{one(form.need('name'))}/settle", data))["settled"]
    as_what = "sent" if state == "sent" else "not sent: a resume sends to them"
    return ActionResult(f"{plural(settled, 'recipient')} settled as {as_what}.")


async def _lookup(view: PageView, form: Form) -> ActionResult:
    settled = (await view.api.post(f"{one(form.need('name'))}/lookup", None))["settled"]
    return ActionResult(f"The provider was asked: {plural(settled, 'recipient')} settled.")


PAGE: Final = WebPage(
    "campaigns",
    "/campaigns",
    "Campaigns",
    regions=(Region("table", _table), Region("create", drafts.offer)),
    actions={
        "/campaigns/start": _start,
        "/campaigns/stop": _stop,
        "/campaigns/resume": _resume,
        "/campaigns/retry": _retry,
        "/campaigns/cancel": _cancel,
        "/campaigns/delete": _delete,
        "/campaigns/settle": _settle,
        "/campaigns/lookup": _lookup,
        "/campaigns/create": drafts.create,
        "/campaigns/import": drafts.import_text,
        "/campaigns/test": drafts.test_send,
        "/campaigns/estimate": drafts.estimate,
    },
    files={"/campaigns/export": _export, "/campaigns/html": drafts.show_html},
    group="Send",
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
)
