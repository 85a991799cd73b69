"""What the forms of the portal do: each is a request to the API with the token of the link."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import Struct

from postroad.dashboard.paging import Form, with_zone
from postroad.dashboard.portal.views import PortalView
from postroad.remote.api_request import part


class PortalResult(Struct, frozen=True):
    """The result of a form: the key of a text, what it names, and where to go on."""

    said: str
    named: dict[str, Any] = {}
    go: str = ""
    secret: str = ""
    """Shown once, in place of the page."""


Act = Callable[[PortalView, Form], Awaitable[PortalResult]]


def _path(form: Form) -> str:
    return f"/v1/endpoints/{part(form.need('id'))}"


def _fields(form: Form) -> dict[str, Any]:
    types = form.one("types").replace(",", " ").split()
    return {"url": form.need("url"), "types": types, "description": form.one("description")}


async def _create(view: PortalView, form: Form) -> PortalResult:
    made = await view.api.post("/v1/endpoints", _fields(form))
    go = f"/endpoints/{made['id']}"
    return PortalResult("endpoint_added", go=go, secret=made["secret"])


async def _change(view: PortalView, form: Form) -> PortalResult:
    await view.api.change(_path(form), _fields(form))
    return PortalResult("saved")


async def _enable(view: PortalView, form: Form) -> PortalResult:
    await view.api.change(_path(form), {"state": "enabled"})
    return PortalResult("enabled_now")


async def _disable(view: PortalView, form: Form) -> PortalResult:
    await view.api.change(_path(form), {"state": "disabled"})
    return PortalResult("disabled_now")


async def _delete(view: PortalView, form: Form) -> PortalResult:
    _ = await view.api.delete(_path(form))  # a refusal is raised
    return PortalResult("deleted_now", go="/endpoints")


async def _rotate(view: PortalView, form: Form) -> PortalResult:
    made = await view.api.post(f"{_path(form)}/rotate", {})
    return PortalResult("rotated", go=f"/endpoints/{made['id']}", secret=made["secret"])


async def _recover(view: PortalView, form: Form) -> PortalResult:
    since = form.one("since")
    data = {"since": with_zone(since)} if since else {}
    said = await view.api.post(f"{_path(form)}/recover", data)
    return PortalResult("recovered", {"count": said["messages"]})


async def _test(view: PortalView, form: Form) -> PortalResult:
    sent = await view.api.post(f"{_path(form)}/test", {})
    return PortalResult("test_sent", {"type": sent["type"]}, go=f"/messages/{sent['message']}")


async def _again(view: PortalView, form: Form) -> PortalResult:
    said = await view.api.post("/v1/messages:send-again", {"ids": [form.need("id")]})
    if not said["ids"]:
        return PortalResult("again_none")
    return PortalResult("again_done", go=f"/messages/{said['ids'][0]}")


ACTIONS: Final[dict[str, Act]] = {
    "endpoint-create": _create,
    "endpoint-change": _change,
    "endpoint-enable": _enable,
    "endpoint-disable": _disable,
    "endpoint-delete": _delete,
    "endpoint-rotate": _rotate,
    "endpoint-recover": _recover,
    "endpoint-test": _test,
    "again": _again,
}
