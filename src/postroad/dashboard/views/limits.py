"""Limits that many lanes share, and answer rules: what answers of servers do."""

from typing import Any, Final

from postroad.dashboard.acting import does
from postroad.dashboard.paging import Form, PageView, Region, WebPage

EVERYBODY: Final = "*"


async def _limits(view: PageView) -> dict[str, Any]:
    return {"limits": await view.api.get("/v1/limits")}


async def _rules(view: PageView) -> dict[str, Any]:
    rules = await view.api.get("/v1/rules")
    asked, said = view.query.get("answer", ""), None
    if asked:
        said = await view.api.get("/v1/rules:test", answer=asked, lane=view.query.get("lane"))
    return {"rules": rules, "asked": asked, "said": said}


def _limit(form: Form) -> dict[str, Any]:
    data = {"name": form.need("name"), "lanes": form.need("lanes")}
    return {**data, **form.some("rate", "hours", "zone")}


def _whose(form: Form) -> dict[str, Any]:
    return {"everywhere": "true" if form.one("tenant") == EVERYBODY else None}


PAGE: Final = WebPage(
    "limits",
    "/limits",
    "Limits and rules",
    regions=(Region("limits", _limits), Region("rules", _rules)),
    query=("answer", "lane"),
    actions={
        "/limits/put": does("POST /v1/limits", "The limit {name} holds from now on.", _limit),
        "/limits/lift": does("DELETE /v1/limits/{name}", "The limit {name} is lifted.", _whose),
        "/rules/delete": does("DELETE /v1/rules/{name}", "The rule {name} is deleted.", _whose),
    },
    group="Run",
    key="r",
)
