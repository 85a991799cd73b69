"""Timetables: when each comes next; run now, pause, resume, make, change and delete."""

from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage, refusal
from postroad.remote.api_request import part

PATH: Final = "/v1/timetables"


def _one(name: str) -> str:
    return f"{PATH}/{part(name)}"


async def _table(view: PageView) -> dict[str, Any]:
    shown: dict[str, Any] = await view.api.get(PATH, limit=50, after=view.query.get("after"))
    return shown


async def _told(view: PageView) -> dict[str, Any]:
    if not (name := view.query.get("name", "")):
        raise refusal("the address names no timetable: choose one from the list")
    return {"told": await view.api.get(_one(name))}


async def _story(view: PageView) -> dict[str, Any]:
    shown = await _told(view)
    told = shown["told"]
    body = msgspec.json.format(msgspec.json.encode(told["body"]), indent=2).decode()
    coming = [(at_ms, _on_the_wall(at_ms, told["zone"])) for at_ms in told["next_ms"]]
    return {**shown, "coming": coming, "body": body}


def _on_the_wall(at_ms: int, zone: str) -> str:
    """A time as clocks of the zone show it: "Mon 3 Aug 2026, 09:00:00"."""
    at = datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone))
    return f"{at:%a} {at.day} {at:%b %Y, %H:%M:%S}"


def _given(form: Form) -> dict[str, Any]:
    """What is filled in, as the API takes it."""
    data: dict[str, Any] = form.some("queue", "cron", "zone", "missed")
    if every := form.one("every"):
        try:
            data["every_s"] = float(every)
        except ValueError:
            raise refusal(f"{every[:40]!r} are no seconds: give a number as 3600") from None
    if body := form.one("body").strip():
        try:
            _ = msgspec.json.decode(body)  # it is sent as it was written
        except msgspec.DecodeError as error:
            raise refusal(
                f'the body is no JSON: {error}. A text stands in quotes: "hello"'
            ) from None
        data["body"] = msgspec.Raw(body.encode())
    return data


async def _create(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    given = {"name": name, "body": None, "paused": bool(form.one("paused")), **_given(form)}
    made = await view.api.post(PATH, given)
    return ActionResult(f"{name} is made: it comes {made['when']}.")


async def _change(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    await view.api.change(_one(name), _given(form))
    return ActionResult(f"{name} is changed.")


async def _pause(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    await view.api.do(f"{_one(name)}/pause", None)
    return ActionResult(f"{name} is paused: times that come meanwhile are not made up for.")


async def _resume(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    await view.api.do(f"{_one(name)}/resume", None)
    return ActionResult(f"{name} goes on from now.")


async def _run(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    sent = await view.api.post(f"{_one(name)}/run", None)
    return ActionResult(f"{name} has sent message {sent['id']} to {sent['queue']}.")


async def _delete(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    _ = await view.api.delete(_one(name))  # a refusal is raised
    return ActionResult(f"{name} is deleted; what it has sent stays.", "/timetables")


PAGE: Final = WebPage(
    "timetables",
    "/timetables",
    "Timetables",
    regions=(Region("table", _table),),
    actions={
        "/timetables/create": _create,
        "/timetables/change": _change,
        "/timetables/pause": _pause,
        "/timetables/resume": _resume,
        "/timetables/run": _run,
        "/timetables/delete": _delete,
    },
    group="Send",
)
ONE: Final = WebPage(
    "timetables_one",
    "/timetable",
    "Timetable",
    regions=(Region("story", _story), Region("change", _told)),
)
