"""What browsers send to pages: paths, cookies, forms."""

import asyncio
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

from postroad.api.problems import BadRequest
from postroad.api.request import Request
from postroad.dashboard.application import _form, _own_address
from postroad.dashboard.guarding import cookies
from postroad.dashboard.pages import find_page
from postroad.dashboard.portal.application import _form as portal_form
from postroad.dashboard.portal.texts import texts_for
from postroad.model.errors import BadInput
from postroad.model.portal import check_look, check_origins
from tests.doors.shape import Door

BARE = (b"", b"")


def asked(data: bytes) -> Request:
    """A request with these bytes as its cookie and its body."""
    scope = {"method": "POST", "path": "/", "raw_path": b"/", "query_string": b""}
    given: dict[str, Any] = {**scope, "headers": [(b"cookie", data), (b"host", b"x:1")]}

    async def receive() -> Any:
        return {"type": "http.request", "body": data, "more_body": False}

    request = Request(given, receive, SimpleNamespace())  # type: ignore[arg-type]
    request.body_bytes_max = 1 << 20
    return request


def read(data: bytes) -> None:
    """As the pages read it."""
    for value in cookies(asked(data)).values():
        unquote(value)
    text = data.decode("latin-1")
    find_page(text)
    _own_address(text, "/")
    text.split(",")
    text.replace(",", " ").split()


def visited(data: bytes) -> None:
    """As the portal reads what comes with a request."""
    text = data.decode("latin-1")
    text.rstrip("/").split("/")
    texts_for(text)


def asked_for(data: bytes) -> None:
    """As the makers of links name sites and colours."""
    text = data.decode("latin-1")
    with suppress(BadInput):
        check_look("", text, "system")
    check_origins([text])


DOORS = (
    Door(
        "a request for the portal",
        visited,
        (
            "dashboard/portal/application.py:Portal",
            "dashboard/portal/texts.py:texts_for",
            "dashboard/portal/actions.py:_fields",
        ),
        frames=(BARE, (b"/portal/", b""), (b"en;q=", b", de")),
    ),
    Door(
        "the sites and the colour of a portal link",
        asked_for,
        ("model/portal.py:ORIGIN", "model/portal.py:COLOUR"),
        frames=(BARE, (b"https://", b":443"), (b"https://[", b"]"), (b"#", b"")),
        raises=(BadInput,),
    ),
    Door(
        "a form of the portal",
        lambda data: asyncio.run(portal_form(asked(data))),
        ("dashboard/portal/application.py:_form",),
        frames=(BARE, (b"a=", b"")),
        raises=(BadRequest,),
    ),
    Door(
        "a request for a page",
        read,
        (
            "dashboard/application.py:Dashboard",
            "dashboard/guarding.py:cookies",
            "dashboard/passing.py:pass_on",
            "dashboard/pages.py:find_page",
            "dashboard/views/endpoints.py:_create",
        ),
        frames=(BARE, (b"/messages/", b""), (b"a=", b"; b=c"), (b"/%2f%2f", b"")),
        shapes={"many cookies": lambda n: b"; ".join(b"a%d=b" % i for i in range(n // 8))},
    ),
    Door(
        "a form of a page",
        lambda data: asyncio.run(_form(asked(data))),
        ("dashboard/application.py:_form",),
        frames=(BARE, (b"a=", b"")),
        shapes={"many fields": lambda n: b"&".join(b"a%d=b" % i for i in range(n // 8))},
        raises=(BadRequest,),
    ),
)
