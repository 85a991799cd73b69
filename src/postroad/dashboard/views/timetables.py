"""Timetables: when each comes next; run now, pause, resume, make, change and delete."""

from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from postroad.dashboard.acting import does
from postroad.dashboard.paging import Form, PageView, Region, WebPage, refusal
from postroad.remote.api_request import part

PATH: Final = "/v1/timetables"
ITS: Final = f"{PATH}/{{name}}"


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
    body = told["body_base64"] or _written(told["body"])
    coming = [(at_ms, _on_the_wall(at_ms, told["zone"])) for at_ms in told["next_ms"]]
    return {**shown, "coming": coming, "body": body}


def _written(body: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(body), indent=2).decode()


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


def _new(form: Form) -> dict[str, Any]:
    named = {"name": form.need("name"), "body": None, "paused": bool(form.one("paused"))}
    return {**named, **_given(form)}


PAGE: Final = WebPage(
    "timetables",
    "/timetables",
    "Timetables",
    regions=(Region("table", _table),),
    query=("after",),
    actions={
        "/timetables/create": does(f"POST {PATH}", "{name} is made: it comes {when}.", _new),
        "/timetables/change": does(f"PATCH {ITS}", "{name} is changed.", _given),
        "/timetables/pause": does(
            f"POST {ITS}/pause",
            "{name} is paused: times that come meanwhile are not made up for.",
        ),
        "/timetables/resume": does(f"POST {ITS}/resume", "{name} goes on from now."),
        "/timetables/run": does(f"POST {ITS}/run", "{name} has sent message {id} to {queue}."),
        "/timetables/delete": does(
            f"DELETE {ITS}", "{name} is deleted; what it has sent stays.", go="/timetables"
        ),
    },
    group="Send",
    key="t",
)
ONE: Final = WebPage(
    "timetables_one",
    "/timetable",
    "Timetable",
    regions=(Region("story", _story), Region("change", _told)),
    query=("name",),
)
