"""Campaigns before they start: made, given recipients, looked at, tried and estimated."""

from collections.abc import AsyncIterator
from typing import Any, Final

from postroad.api.request import Response
from postroad.api.uploads import UPLOAD_BYTES_MAX
from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.guarding import MAIL_POLICY
from postroad.dashboard.multipart import FormFile
from postroad.dashboard.paging import ActionResult, Form, PageView, refusal, with_zone
from postroad.dashboard.rendering import count, lasts, plural
from postroad.dashboard.views.importing import import_csv
from postroad.model.wording import moment
from postroad.remote.api_request import part

ENCODINGS: Final = {"cp1252": "Western European text (Windows-1252)"}
PATH: Final = "/v1/campaigns"
HTML: Final = "text/html; charset=utf-8"
TEXTS: Final = ("template", "subject", "html", "recipient", "zone")
EDITED: Final = ("credential", "template", "subject", "html")


def one(name: str) -> str:
    """The path of a campaign in the API."""
    return f"{PATH}/{part(name)}"


def named(view: PageView) -> str:
    """The path of the campaign that the address names."""
    if not (name := view.query.get("name", "")):
        raise refusal("the address names no campaign: choose one from the list")
    return one(name)


async def offer(view: PageView) -> dict[str, Any]:
    """The credentials that a new campaign may send with."""
    return {"credentials": await view.api.get("/v1/credentials")}


async def preview(view: PageView) -> dict[str, Any]:
    """The message for one recipient, of a campaign that has not started."""
    told = await view.api.get(named(view))
    details = await view.api.get(f"{named(view)}/details")
    row = view.query.get("row", "1")
    shown: dict[str, Any] = {
        "told": told,
        "row": row,
        "seen": None,
        "problem": "",
        "bytes_max": UPLOAD_BYTES_MAX,
        "details": details,
        "credentials": await view.api.get("/v1/credentials"),
        "line": details["import_line"],
    }
    if told["counts"]["total"]:
        try:
            shown["seen"] = await view.api.get(f"{named(view)}/preview", row=row)
        except ProblemAnswer as error:
            shown["problem"] = error.problem.detail
    return shown


async def show_html(view: PageView) -> Response[Any]:
    """The HTML of a mail, for a frame in which nothing runs and nothing is fetched."""
    seen = await view.api.get(f"{named(view)}/preview", row=view.query.get("row", "1"))
    return Response(seen["html"].encode(), 200, {"content-security-policy": MAIL_POLICY}, HTML)


async def create(view: PageView, form: Form) -> ActionResult:
    """Make a draft without recipients."""
    texts = {name: text for name in TEXTS if (text := _typed(form, name))}
    data = {"name": form.need("name"), "credential": form.need("credential"), **texts}
    made = await view.api.post(PATH, data)
    return ActionResult(f"{made['name']} is a draft: give it recipients.", _page(made["name"]))


async def edit(view: PageView, form: Form) -> ActionResult:
    """Change the texts or the credential of a campaign that has not started."""
    path = one(form.need("name"))
    details = await view.api.get(f"{path}/details")
    given = {name: _typed(form, name) for name in EDITED}
    changed = {name: text for name, text in given.items() if text != details[name]}
    if not changed:
        return ActionResult("It is as it was: nothing was changed.")
    await view.api.do(f"{path}/edit", changed)
    return ActionResult("Changed.")


async def schedule(view: PageView, form: Form) -> ActionResult:
    """Start a draft at a time."""
    at = with_zone(form.need("at"))
    told = await view.api.post(f"{one(form.need('name'))}/schedule", {"at": at})
    when = moment(told["start_at_ms"])
    return ActionResult(f"{told['name']} starts by itself at {when}, while a worker runs.")


def _typed(form: Form, name: str) -> str:
    """A field of a form. Browsers send a line's end as two characters: in a text message both would
    count."""
    return form.one(name).replace("\r\n", "\n")


async def import_file(view: PageView, form: Form) -> ActionResult:
    """Import recipients from a CSV file, while it comes."""
    return await _import(view, form, form.file())


async def import_text(view: PageView, form: Form) -> ActionResult:
    """Import recipients that were pasted as CSV."""

    async def pieces() -> AsyncIterator[bytes]:
        yield form.need("csv").encode()

    return await _import(view, form, FormFile("pasted.csv", pieces()))


async def _import(view: PageView, form: Form, file: FormFile) -> ActionResult:
    done = await import_csv(view, form, f"{one(form.need('name'))}/import", file)
    encoding = ENCODINGS.get(done["encoding"], done["encoding"])
    parts = [
        f"{plural(done['rows'], 'recipient')} imported",
        f"{plural(done['duplicates'], 'duplicate')} left out" if done["duplicates"] else "",
        f"{plural(done['invalid'], 'invalid line')} left out" if done["invalid"] else "",
        f"{count(done['suppressed'])} suppressed" if done["suppressed"] else "",
        f"read as {encoding}, which is a guess" if done["guessed"] else "",
    ]
    return ActionResult(f"{', '.join(each for each in parts if each)}.")


async def test_send(view: PageView, form: Form) -> ActionResult:
    """Send one recipient's message to another address."""
    data = {"to": form.need("to"), "row": form.number("row") if form.one("row") else 1}
    said = await view.api.post(f"{one(form.need('name'))}/test", data)
    return ActionResult(f"The test was {said['state']}. {said['error']}".strip())


async def estimate(view: PageView, form: Form) -> ActionResult:
    """Render all messages, and say what they cost and how long they take."""
    said = await view.api.get(f"{one(form.need('name'))}/estimate")
    parts = [
        plural(said["recipients"], "recipient"),
        plural(said["segments"], "segment") if any(said["encodings"]) else "",
        f"price {said['cost']:g}" if said["cost"] or not said["segments"] else "no price set",
        f"{lasts(int(said['seconds'] * 1000))} at the allowed rate" if said["seconds"] else "",
        f"{said['invalid']} cannot be sent" if said["invalid"] else "",
        f"{said['suppressed']} are suppressed" if said["suppressed"] else "",
    ]
    return ActionResult(f"Estimate: {', '.join(each for each in parts if each)}.")


def _page(name: str) -> str:
    return f"/campaign?name={part(name)}"
