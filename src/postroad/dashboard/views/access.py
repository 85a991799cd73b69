"""Access: tokens of programs, sessions of people, and the audit log."""

from typing import Any, Final

from postroad.dashboard.acting import does, shown_once
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.model.tokens import Scope

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
    return shown_once(
        "The token is made.",
        f"Token {made['token']['name']}",
        ("Access token", made["secret"]),
        "Only its hash is stored: it is not shown again.",
        "/access",
    )


async def _invite(view: PageView, form: Form) -> ActionResult:
    data = {"name": form.need("name"), "role": form.need("role"), **form.some("tenant")}
    made = await view.api.post("/v1/logins", data)
    return shown_once(
        "The link is made.",
        f"A login link for {data['name']}",
        ("Login link", made["url"] or made["path"]),
        "It works once, within 15 minutes, for the first who opens it.",
        "/access",
    )


PAGE: Final = WebPage(
    "access",
    "/access",
    "Access",
    regions=(
        Region("people", _people, personal=True),
        Region("tokens", _tokens),
        Region("audit", _audit),
    ),
    query=("verb", "actor", "after"),
    actions={
        "/access/make": _make,
        "/access/revoke": does("DELETE /v1/tokens/{id}", "Revoked: it is refused from now on."),
        "/access/invite": _invite,
        "/access/end": does("DELETE /v1/sessions/{id}", "The session has ended."),
    },
    group="Run",
    key="a",
    scope=Scope.admin,
)
