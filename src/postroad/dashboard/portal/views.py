"""The pages of the portal: endpoints, messages with their tries, event types."""

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from postroad.dashboard.asking import PageApi, ProblemAnswer, can_send_again
from postroad.dashboard.portal.errors import customer_error
from postroad.dashboard.rendering import pretty
from postroad.model.endpoint import QUEUE_PREFIX
from postroad.model.errors import NoBody
from postroad.model.portal import PortalLink
from postroad.model.problem import kind
from postroad.remote.api_request import part
from postroad.verbs.event_samples import sample

BODY_MAX: Final = 100_000
"""Characters of a body that are shown."""
STATES: Final = ("waiting", "held", "sending", "uncertain", "delivered", "dead", "cancelled")
FINISHED: Final = ("delivered", "dead", "cancelled")
QUEUE: Final = "endpoint:*"
ENDPOINTS_MAX: Final = 200
"""Endpoints that can be chosen from, and whose addresses stand at messages."""


class PortalView(Struct, frozen=True):
    """Whose portal it is, and what is asked for."""

    api: PageApi
    link: PortalLink
    values: tuple[str, ...]
    """Those in the path, after the name of the page."""
    query: dict[str, str]
    texts: SimpleNamespace

    def error(self, text: str) -> str:
        """An error in the customer's words."""
        return customer_error(text, self.texts)

    def may(self, right: str) -> bool:
        """Whether the link allows something."""
        return right in self.link.allow

    def next(self, path: str, after: str) -> str:
        """The address of the next page of a list."""
        query = {**self.query, "after": after}
        return f"#{path}?{urlencode({name: value for name, value in query.items() if value})}"


Load = Callable[[PortalView], Awaitable[dict[str, Any]]]


async def endpoints(view: PortalView) -> dict[str, Any]:
    """All endpoints of the tenant, page by page."""
    found = await view.api.get("/v1/endpoints", limit=50, after=view.query.get("after"))
    return {"endpoints": found["endpoints"], "after": found["after"]}


async def endpoint(view: PortalView) -> dict[str, Any]:
    """One endpoint: its state, what it answered in the last day, its latest messages."""
    path = f"/v1/endpoints/{part(view.values[0])}"
    told, stats = await view.api.get(path), await view.api.get(f"{path}/stats")
    listed = await view.api.get("/v1/messages", queue=told["queue"], limit=10)
    tries = stats["total"]["tries"]
    failed = sum(tries.values()) - tries.get("delivered", 0) - tries.get("setup", 0)
    return {"told": told, "stats": stats, "failed": failed, "messages": listed["messages"]}


async def new(view: PortalView) -> dict[str, Any]:
    """The form of a new endpoint."""
    return await types(view)


async def messages(view: PortalView) -> dict[str, Any]:
    """Messages to endpoints, the newest first."""
    known = (await view.api.get("/v1/endpoints", limit=ENDPOINTS_MAX))["endpoints"]
    urls = {each["queue"]: each["url"] or each["id"] for each in known}
    chosen, state = view.query.get("endpoint", ""), view.query.get("state", "")
    asked = {"queue": chosen or QUEUE, "state": state if state in STATES else None}
    after = view.query.get("after")
    found = await view.api.get("/v1/messages", limit=50, after=after, **asked)
    return {**found, "urls": urls, "states": STATES, "chosen": chosen, "state": state}


async def message(view: PortalView) -> dict[str, Any]:
    """One message: every try of it, and as far as the link allows what was sent."""
    path = f"/v1/messages/{part(view.values[0])}"
    told, tries = await view.api.get(path), await view.api.get(f"{path}/attempts")
    finished = told["state"] in FINISHED
    shown = {"told": told, "tries": tries, "finished": finished}
    shown["endpoint"] = await _endpoint_of(view, told["queue"])
    shown["can_again"] = (
        finished and view.may("send_again") and await can_send_again(view.api, told["id"])
    )
    if not view.may("bodies"):
        return {**shown, "text": "", "kept": True}
    try:
        said = await view.api.get(f"{path}/body")
    except ProblemAnswer as error:
        if error.problem.type != kind(NoBody):
            raise
        return {**shown, "text": "", "kept": False}
    text = said["body_base64"] or pretty(said["body"])
    return {**shown, "text": text[:BODY_MAX], "kept": True}


async def _endpoint_of(view: PortalView, queue: str) -> Any:
    """The endpoint that a message is for; None if it has been deleted."""
    try:
        return await view.api.get(f"/v1/endpoints/{part(queue.removeprefix(QUEUE_PREFIX))}")
    except ProblemAnswer:
        return None


async def types(view: PortalView) -> dict[str, Any]:
    """The event types, with schemas and examples."""
    found = (await view.api.get("/v1/event-types"))["event_types"]
    return {
        "types": [
            {
                **each,
                "shown": pretty(each["schema"]) if each["schema"] else "",
                "example": pretty(sample(each["schema"])) if each["schema"] else "",
            }
            for each in found
        ]
    }


PAGES: Final[dict[tuple[str, int], tuple[str, Load]]] = {
    ("endpoints", 0): ("endpoints", endpoints),
    ("endpoints", 1): ("endpoint", endpoint),
    ("new", 0): ("new", new),
    ("messages", 0): ("messages", messages),
    ("messages", 1): ("message", message),
    ("types", 0): ("types", types),
}
"""The template of a page and what it shows, by the name in the path and how many values follow
it."""
