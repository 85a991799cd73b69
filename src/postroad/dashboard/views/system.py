"""The system: which release and process answers, whether it is ready, and its tenants."""

from typing import Any, Final

from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.paging import PageView, Region, WebPage


async def _health(view: PageView) -> dict[str, Any]:
    about = await view.api.get("/v1/about")
    try:
        parts = (await view.api.get("/readyz"))["parts"]
    except ProblemAnswer as error:
        parts = {"server": error.problem.detail}
    return {"about": about, "parts": parts}


async def _tenants(view: PageView) -> dict[str, Any]:
    if not view.who.every_tenant:
        return {"tenants": []}
    return {"tenants": (await view.api.get("/v1/tenants", limit=50))["tenants"]}


PAGE: Final = WebPage(
    "system",
    "/system",
    "System",
    regions=(Region("health", _health), Region("tenants", _tenants)),
    group="Run",
)
