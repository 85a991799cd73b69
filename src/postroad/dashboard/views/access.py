"""Access: tokens of programs, sessions of people, and the audit log."""

from typing import Any, Final

from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.model.tokens import Scope
from postroad.remote.api_request import part

DAY_S: Final = 86_400


async def _people(view: PageView) -> dict[str, Any]:
    return {"sessions": await view.api.get("/v1/sessions")}


async def _tokens(view: PageView) -> dict[str, Any]:
    return {"tokens": await view.api.get("/v1/tokens")}


async def _audit(view: PageView) -> dict[str, Any]:
    given = {name: view.query.get(name) for name in ("verb", "actor", "after")}
    shown: dict[str, Any] = await view.api.get("/v1/audit", limit=50, **given)
    return shown


async def _make(view: PageView, form: Form) -> ActionResult:
    data: dict[str, Any] = {"name": form.need("name"), "role": form.need("role")}
    data |= form.some("tenant")
    if form.one("days"):
        data["lasts_s"] = form.number("days") * DAY_S
    made = await view.api.post("/v1/tokens", data)
    shown = {
        "heading": f"Token {made['token']['name']}",
        "name": "Access token",
        "secret": made["secret"],
        "note": "Only its hash is stored: it is not shown again.",
        "go": "/access",
    }
    return ActionResult("The token is made.", page="secret.html", shown=shown)


async def _revoke(view: PageView, form: Form) -> ActionResult:
    _ = await view.api.delete(f"/v1/tokens/{part(form.need('id'))}")  # a refusal is raised
    return ActionResult("Revoked: it is refused from now on.")


async def _invite(view: PageView, form: Form) -> ActionResult:
    data = {"name": form.need("name"), "role": form.need("role"), **form.some("tenant")}
    made = await view.api.post("/v1/logins", data)
    shown = {
        "heading": f"A login link for {data['name']}",
        "name": "Login link",
        "secret": made["url"] or made["path"],
        "note": "It works once, within 15 minutes, for whoever opens it first.",
        "go": "/access",
    }
    return ActionResult("The link is made.", page="secret.html", shown=shown)


async def _end(view: PageView, form: Form) -> ActionResult:
    _ = await view.api.delete(f"/v1/sessions/{part(form.need('id'))}")  # a refusal is raised
    return ActionResult("The session has ended.")


PAGE: Final = WebPage(
    "access",
    "/access",
    "Access",
    regions=(
        Region("people", _people, personal=True),
        Region("tokens", _tokens),
        Region("audit", _audit),
    ),
    actions={
        "/access/make": _make,
        "/access/revoke": _revoke,
        "/access/invite": _invite,
        "/access/end": _end,
    },
    group="Run",
    scope=Scope.admin,
)
