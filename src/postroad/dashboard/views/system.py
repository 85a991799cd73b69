"""The system: which release and process answers, whether it is ready, and its tenants."""

from typing import Any, Final

from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.paging import PageView, Region, WebPage
from postroad.dashboard.rendering import lasts

SECOND_MS: Final = 1_000
SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


async def _health(view: PageView) -> dict[str, Any]:
    about = await view.api.get("/v1/about")
    try:
        parts = (await view.api.get("/readyz"))["parts"]
    except ProblemAnswer as error:
        parts = {"server": error.problem.detail}
    return {"about": about, "parts": parts}


async def _state(view: PageView) -> dict[str, Any]:
    """The server's own state is its operator's: of every tenant, and with the scope admin."""
    if not (view.who.every_tenant and view.may("admin")):
        return {"system": None, "settings": []}
    said = await view.api.get("/v1/system")
    settings = [
        {**one, "text": _text(one["value"]), "more": _more(one)} for one in said["settings"]
    ]
    return {"system": said, "settings": settings}


def _text(value: Any) -> str:
    """A value as it is written in the environment."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _more(one: dict[str, Any]) -> str:
    """A number of milliseconds or bytes in larger units."""
    name, value = one["name"], one["value"]
    if name.endswith("_ms") and value >= SECOND_MS:
        return lasts(value)
    if name.endswith("_bytes_max"):
        return next((f"{value // size} {unit}" for size, unit in SIZES if value >= size), "")
    return ""


async def _tenants(view: PageView) -> dict[str, Any]:
    if not view.who.every_tenant:
        return {"tenants": []}
    return {"tenants": (await view.api.get("/v1/tenants", limit=50))["tenants"]}


PAGE: Final = WebPage(
    "system",
    "/system",
    "System",
    regions=(Region("health", _health), Region("state", _state), Region("tenants", _tenants)),
    group="Run",
    key="s",
)
