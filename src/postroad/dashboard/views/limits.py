"""Limits that many lanes share, and answer rules: what answers of servers do."""

from typing import Any, Final

from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.remote.api_request import part

EVERYBODY: Final = "*"


async def _limits(view: PageView) -> dict[str, Any]:
    return {"limits": await view.api.get("/v1/limits")}


async def _rules(view: PageView) -> dict[str, Any]:
    rules = await view.api.get("/v1/rules")
    asked, said = view.query.get("answer", ""), None
    if asked:
        said = await view.api.get("/v1/rules:test", answer=asked, lane=view.query.get("lane"))
    return {"rules": rules, "asked": asked, "said": said}


async def _put(view: PageView, form: Form) -> ActionResult:
    data = {"name": form.need("name"), "lanes": form.need("lanes"), **form.some("rate", "hours")}
    await view.api.do("/v1/limits", {**data, **form.some("zone")})
    return ActionResult(f"The limit {data['name']} holds from now on.")


async def _lift(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    everywhere = "true" if form.one("tenant") == EVERYBODY else None
    _ = await view.api.delete(f"/v1/limits/{part(name)}", everywhere=everywhere)  # or it is raised
    return ActionResult(f"The limit {name} is lifted.")


async def _drop(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    everywhere = "true" if form.one("tenant") == EVERYBODY else None
    _ = await view.api.delete(f"/v1/rules/{part(name)}", everywhere=everywhere)  # or it is raised
    return ActionResult(f"The rule {name} is deleted.")


PAGE: Final = WebPage(
    "limits",
    "/limits",
    "Limits and rules",
    regions=(Region("limits", _limits), Region("rules", _rules)),
    actions={"/limits/put": _put, "/limits/lift": _lift, "/rules/delete": _drop},
    group="Run",
)
