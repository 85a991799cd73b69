"""Suppressions: who is not sent to and why; look up, add, take off, import, export."""

from typing import Any, Final

from postroad.api.uploads import UPLOAD_BYTES_MAX
from postroad.dashboard.acting import does
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage
from postroad.dashboard.passing import PassOn
from postroad.dashboard.rendering import plural
from postroad.dashboard.views.importing import import_csv
from postroad.model.suppression import EVERYWHERE

PATH: Final = "/v1/suppressions"


async def _list(view: PageView) -> dict[str, Any]:
    given = {name: view.query.get(name) for name in ("recipient", "reason", "everywhere", "after")}
    shown: dict[str, Any] = await view.api.get(PATH, limit=50, **given)
    return {**shown, "filtered": bool(given["recipient"] or given["reason"])}


async def _add(_: PageView) -> dict[str, Any]:
    return {"bytes_max": UPLOAD_BYTES_MAX}


def _new(form: Form) -> dict[str, Any]:
    given = {"recipient": form.need("recipient"), "everywhere": bool(form.one("everywhere"))}
    return {**given, **form.some("reason", "note")}


def _which(form: Form) -> dict[str, Any]:
    everywhere = "true" if form.one("tenant") == EVERYWHERE else None
    return {"recipient": form.need("recipient"), "everywhere": everywhere, **form.some("reason")}


async def _import(view: PageView, form: Form) -> ActionResult:
    everywhere = "true" if form.one("everywhere") else None
    done = await import_csv(view, form, f"{PATH}:import", everywhere=everywhere)
    left = f", {plural(done['invalid'], 'invalid line')} left out" if done["invalid"] else ""
    return ActionResult(
        f"{plural(done['rows'], 'entry', 'entries')} read, {done['added']} of them new{left}."
    )


async def _export(view: PageView) -> PassOn:
    asked = {"everywhere": view.query.get("everywhere") == "true"}
    return PassOn(f"{PATH}:export", file="suppressions.csv", data=asked)


PAGE: Final = WebPage(
    "suppressions",
    "/suppressions",
    "Suppressions",
    regions=(Region("list", _list), Region("add", _add)),
    query=("recipient", "reason", "everywhere", "after"),
    actions={
        "/suppressions/add": does(f"POST {PATH}", "{recipient} is not sent to any more.", _new),
        "/suppressions/remove": does(
            f"DELETE {PATH}", "{recipient} is off the list: campaigns send there again.", _which
        ),
    },
    uploads={"/suppressions/import": _import},
    files={"/suppressions/export": _export},
    group="Send",
    key="u",
)
