"""Lanes: circuit, probe, what waits, who owns each; pause, resume, and close a circuit."""

from typing import Any, Final

from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage


async def _table(view: PageView) -> dict[str, Any]:
    shown: dict[str, Any] = await view.api.get("/v1/lanes", limit=50, after=view.query.get("after"))
    return shown


async def _story(view: PageView) -> dict[str, Any]:
    return {"told": await view.api.get("/v1/lanes:explain", lane=view.query.get("id", "0"))}


async def _pause(view: PageView, form: Form) -> ActionResult:
    await view.api.do("/v1/lanes:pause", {"lane": form.number("lane")})
    return ActionResult("The lane is paused: no try starts on any of its queues.")


async def _resume(view: PageView, form: Form) -> ActionResult:
    await view.api.do("/v1/lanes:resume", {"lane": form.number("lane")})
    return ActionResult("The lane goes on.")


async def _unblock(view: PageView, form: Form) -> ActionResult:
    await view.api.do("/v1/lanes:unblock", {"lane": form.number("lane")})
    return ActionResult("Its circuit is closed: messages go out again now.")


PAGE: Final = WebPage(
    "lanes",
    "/lanes",
    "Lanes",
    regions=(Region("table", _table),),
    actions={"/lanes/pause": _pause, "/lanes/resume": _resume, "/lanes/unblock": _unblock},
    group="Deliver",
)
ONE: Final = WebPage("lanes_one", "/lane", "Lane", regions=(Region("story", _story),))
