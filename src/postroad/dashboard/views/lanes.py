"""Lanes: circuit, probe, what waits, who owns each; pause, resume, and close a circuit."""

from typing import Any, Final

from postroad.dashboard.acting import does
from postroad.dashboard.paging import Form, PageView, Region, WebPage
from postroad.dashboard.plots import backlog_of
from postroad.model.facts import COUNTED_MAX


async def _table(view: PageView) -> dict[str, Any]:
    after = view.query.get("after")
    said: dict[str, Any] = await view.api.get("/v1/lanes", limit=50, after=after, most=COUNTED_MAX)
    trouble = await _trouble(view) if not after else []
    return {**said, "trouble": trouble}


async def _trouble(view: PageView) -> list[dict[str, Any]]:
    """Those that come first: the first page of lanes in trouble, wherever they are in the list."""
    said = await view.api.get("/v1/lanes", limit=50, trouble="true", most=COUNTED_MAX)
    found: list[dict[str, Any]] = said["lanes"]
    return found


async def _story(view: PageView) -> dict[str, Any]:
    told = await view.api.get("/v1/lanes:explain", lane=view.query.get("id", "0"))
    return {"told": told, "drawn": backlog_of(told)}


def _which(form: Form) -> dict[str, Any]:
    return {"lane": form.number("lane")}


PAGE: Final = WebPage(
    "lanes",
    "/lanes",
    "Lanes",
    regions=(Region("table", _table),),
    query=("after",),
    actions={
        "/lanes/pause": does(
            "POST /v1/lanes:pause",
            "The lane is paused: no try starts on any of its queues.",
            _which,
        ),
        "/lanes/resume": does("POST /v1/lanes:resume", "The lane goes on.", _which),
        "/lanes/unblock": does(
            "POST /v1/lanes:unblock",
            "Its circuit is closed: messages go out again now.",
            _which,
        ),
    },
    group="Deliver",
    key="l",
)
ONE: Final = WebPage(
    "lanes_one", "/lane", "Lane", regions=(Region("story", _story),), query=("id",)
)
