"""Endpoints and events: state, what each answered, secrets, disable and enable, recover."""

from typing import Any, Final

from postroad.dashboard.acting import does, shown_once
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.dashboard.plots import HOUR_MS, answer_times, deliveries, slots
from postroad.remote.api_request import part

ITS: Final = "/v1/endpoints/{id}"


async def _table(view: PageView) -> dict[str, Any]:
    shown: dict[str, Any] = await view.api.get(
        "/v1/endpoints", limit=50, after=view.query.get("after")
    )
    return shown


async def _events(view: PageView) -> dict[str, Any]:
    types = (await view.api.get("/v1/event-types"))["event_types"]
    return {"types": types, "events": (await view.api.get("/v1/events", limit=10))["events"]}


async def _story(view: PageView) -> dict[str, Any]:
    path = f"/v1/endpoints/{part(view.values['id'])}"
    told, stats = await view.api.get(path), await view.api.get(f"{path}/stats")
    since_ms = stats["since_ms"] // HOUR_MS * HOUR_MS
    points = [{**one, "late": ()} for one in stats["points"]]
    many = (stats["until_ms"] - since_ms) // HOUR_MS + 1
    shown, total = slots(points, since_ms, HOUR_MS, many), stats["total"]
    whole = (total["took_p50_ms"], total["took_p99_ms"])
    plots = [
        deliveries("day-tries", "Tries in the last day", shown),
        answer_times("day-took", "Time to answer in the last day", shown, points, whole),
    ]
    return {"told": told, "stats": stats, "plots": plots}


async def _create(view: PageView, form: Form) -> ActionResult:
    types = form.one("types").replace(",", " ").split()
    data = {"url": form.need("url"), "types": types, "description": form.one("description")}
    made = await view.api.post("/v1/endpoints", data)
    return _secret(made, "The endpoint is made")


async def _rotate(view: PageView, form: Form) -> ActionResult:
    path = f"/v1/endpoints/{part(form.need('id'))}/rotate"
    return _secret(await view.api.post(path, {}), "It has a new secret")


def _secret(made: dict[str, Any], said: str) -> ActionResult:
    note = "Give it to the receiver now: it is stored sealed, and is not shown again."
    shown = ("Signing secret", made["secret"])
    return shown_once(said, said, shown, note, f"/endpoints/{made['id']}")


PAGE: Final = WebPage(
    "endpoints",
    "/endpoints",
    "Endpoints",
    regions=(Region("table", _table), Region("events", _events)),
    query=("after",),
    actions={
        "/endpoints/create": _create,
        "/endpoints/rotate": _rotate,
        "/endpoints/enable": does(
            f"PATCH {ITS}",
            "Enabled: what was held goes out now.",
            lambda _: {"state": "enabled"},
        ),
        "/endpoints/disable": does(
            f"PATCH {ITS}",
            "Disabled: messages for it are held, and nothing is lost.",
            lambda form: {"state": "disabled", "reason": form.one("reason")},
        ),
        "/endpoints/test": does(
            f"POST {ITS}/test",
            "A test event of type {type} is on its way, as message {message}.",
        ),
        "/endpoints/recover": does(
            f"POST {ITS}/recover", "{messages:message} that died go out again."
        ),
    },
    group="Send",
    key="e",
)
ONE: Final = WebPage(
    "endpoints_one", "/endpoints/{id}", "Endpoint", regions=(Region("story", _story),)
)
