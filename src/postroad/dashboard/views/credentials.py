"""Credentials: the accounts that campaigns send with; make, change, check, delete."""

from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from postroad.api.problems import NotFound, problem
from postroad.dashboard.acting import does
from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.paging import ActionResult, Form, PageView, Region, WebPage, refusal
from postroad.dashboard.views.credential_fields import KINDS, CredentialForm, read_fields
from postroad.model.recipients import read_queue_name
from postroad.remote.api_request import part

PATH: Final = "/v1/credentials"
LOOKED_MAX: Final = 200
"""Queues in trouble that are looked at for those of credentials."""


async def _all(view: PageView) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await view.api.get(PATH)
    return found


async def _one(view: PageView, name: str) -> dict[str, Any]:
    for each in await _all(view):
        if each["name"] == name:
            return each
    text = f"there is no credential {name[:100]!r}: choose one from the list"
    raise ProblemAnswer(problem(NotFound(text)))


async def _standing(view: PageView) -> dict[str, Any]:
    """What holds the queues of credentials, by kind and name."""
    said = await view.api.get("/v1/queues", trouble="true", most=1, limit=LOOKED_MAX)
    held: dict[tuple[str, str], dict[str, Any]] = {}
    for each in said["queues"]:
        kind, name, _ = read_queue_name(each["queue"])
        if kind in KINDS:
            held.setdefault((kind, name), each)
    return {"held": held, "more": bool(said["after"]), "now_ms": view.api.now_ms(), "kinds": KINDS}


async def _table(view: PageView) -> dict[str, Any]:
    return {"credentials": await _all(view), **await _standing(view)}


async def _new(view: PageView) -> dict[str, Any]:
    asked = view.query.get("kind", "")
    return {"kinds": KINDS, "chosen": asked if asked in KINDS else next(iter(KINDS))}


async def _named(view: PageView) -> dict[str, Any]:
    if not (name := view.query.get("name", "")):
        raise refusal("the address names no credential: choose one from the list")
    return {"told": await _one(view, name)}


async def _story(view: PageView) -> dict[str, Any]:
    shown = {**await _named(view), **await _standing(view)}
    kind = KINDS.get(shown["told"]["kind"])
    labels = {field.name: field.label for field in kind.fields} if kind else {}
    return {**shown, "labels": labels}


async def _change(view: PageView) -> dict[str, Any]:
    shown = await _named(view)
    told = shown["told"]
    if (kind := KINDS.get(told["kind"])) is None:
        return {**shown, "kind": None}
    drops = any(field.name in told["secrets"] and not field.needed for field in kind.fields)
    return {**shown, "kind": kind, "values": _values(kind, told), "may_drop": drops}


def _values(kind: CredentialForm, told: dict[str, Any]) -> dict[str, str]:
    """What a form shows of a credential: nothing of its secrets."""
    open_ = {field.name for field in kind.fields if not field.secret}
    found = {name: text for name, text in (told | told["options"]).items() if name in open_}
    if told["expires_at_ms"]:
        at = datetime.fromtimestamp(told["expires_at_ms"] / 1000, UTC)
        found["expires_at"] = f"{at:%Y-%m-%dT%H:%M:%S}"
    return {name: str(text) for name, text in found.items() if text}


async def _create(view: PageView, form: Form) -> ActionResult:
    name = form.need("name").strip()
    if any(each["name"] == name for each in await _all(view)):
        raise refusal(f"there is a credential {name!r} already: change it on its page")
    data = read_fields(form, form.need("kind"), {})
    await view.api.do(PATH, {**data, "name": name})
    place = urlencode({"name": name})
    return ActionResult(f"{name} is checked and stored.", f"/credential?{place}")


async def _replace(view: PageView, form: Form) -> ActionResult:
    stored = await _one(view, form.need("name"))
    data = read_fields(form, stored["kind"], stored)
    await view.api.do(PATH, {**data, "name": stored["name"]})
    return ActionResult(f"{stored['name']} is checked and changed: it counts within two seconds.")


async def _check(view: PageView, form: Form) -> ActionResult:
    name = form.need("name")
    account = (await view.api.post(f"{PATH}/{part(name)}/check", None))["account"]
    if account:
        return ActionResult(f"{name} works: {account}.")
    return ActionResult(f"Nothing is against {name}; no account was named.")


PAGE: Final = WebPage(
    "credentials",
    "/credentials",
    "Credentials",
    regions=(Region("table", _table), Region("new", _new)),
    query=("kind",),
    actions={
        "/credentials/create": _create,
        "/credentials/change": _replace,
        "/credentials/check": _check,
        "/credentials/delete": does(
            f"DELETE {PATH}/{{name}}", "{name} is deleted.", go="/credentials"
        ),
    },
    group="Send",
    key="n",
)
ONE: Final = WebPage(
    "credentials_one",
    "/credential",
    "Credential",
    regions=(Region("story", _story), Region("change", _change)),
    query=("name",),
)
