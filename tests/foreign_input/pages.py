"""What browsers send to pages: paths, cookies, forms."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

from postroad.api.login_file import LoginFile, MemberRule, check_address
from postroad.api.problems import BadRequest, UnsupportedMediaType
from postroad.api.request import Request
from postroad.dashboard.application import _own_address
from postroad.dashboard.asking import without_hints
from postroad.dashboard.forms import read_form
from postroad.dashboard.guarding import cookies
from postroad.dashboard.logins.id_token import Expected, Jwk, read_id_token
from postroad.dashboard.logins.provider import (
    IdentityAnswer,
    KeySet,
    ProviderAway,
    ProviderSettings,
    _decode,
)
from postroad.dashboard.multipart import MultipartReader
from postroad.dashboard.pages import find_page
from postroad.dashboard.paging import with_zone
from postroad.dashboard.portal.errors import customer_error
from postroad.dashboard.portal.texts import texts_for
from postroad.dashboard.rendering import coded
from postroad.dashboard.views.campaigns import file_stem
from postroad.engine.drafting import CONTROL
from postroad.model.errors import BadInput, Unauthorized
from postroad.model.portal import check_look, check_origins
from postroad.model.tokens import Role
from tests.foreign_input.shape import Door

BARE = (b"", b"")
KEYS = (Jwk("RSA", n="A" * 342, e="AQAB"), Jwk("EC", crv="P-256", x="A" * 43, y="A" * 43))
HEADS = (b"eyJhbGciOiJSUzI1NiJ9.", b"eyJhbGciOiJFUzI1NiJ9.")
RULES = LoginFile((MemberRule("a.b", "x", Role.read), MemberRule("groups", "x", Role.read)))
PART = b"--x\r\ncontent-disposition: form-data; name="
FILE = PART + b'"a"; filename="b"\r\n\r\n'
SIZES = (1 << 16, 7)
"""Of the pieces that a form comes in."""


def asked(data: bytes) -> Request:
    """A request with these bytes as its cookie and its body."""
    scope = {"method": "POST", "path": "/", "raw_path": b"/", "query_string": b""}
    given: dict[str, Any] = {**scope, "headers": [(b"cookie", data), (b"host", b"x:1")]}

    async def receive() -> Any:
        return {"type": "http.request", "body": data, "more_body": False}

    request = Request(given, receive, SimpleNamespace())  # type: ignore[arg-type]
    request.body_bytes_max = 1 << 20
    return request


def shown(data: bytes) -> None:
    """An error on a page, and the headers of a message."""
    text = data.decode("latin-1")
    _ = without_hints(text), CONTROL.search(text)


def read(data: bytes) -> None:
    """As the pages read it."""
    for value in cookies(asked(data)).values():
        unquote(value)
    text = data.decode("latin-1")
    find_page(text)
    file_stem(text)
    _own_address(text, "/")
    with_zone(text)
    coded(text)
    text.split(",")
    text.replace(",", " ").split()


async def uploaded(data: bytes) -> None:
    """As a form with a file is read, in large pieces and in small ones."""

    async def pieces(size: int) -> AsyncIterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    for size in SIZES:
        with suppress(BadRequest):
            _, file = await MultipartReader("multipart/form-data; boundary=x", pieces(size)).read()
            async for _ in file.pieces:
                pass
    MultipartReader("multipart/form-data; boundary=" + data.decode("latin-1"), pieces(1))


def visited(data: bytes) -> None:
    """As the portal reads what comes with a request."""
    text = data.decode("latin-1")
    text.rstrip("/").split("/")
    customer_error(text, texts_for(text))


def asked_for(data: bytes) -> None:
    """As the makers of links name sites and colours."""
    text = data.decode("latin-1")
    with suppress(BadInput):
        check_look("", text, "system")
    check_origins([text])


def signed(data: bytes) -> None:
    """As the ID token of a provider is read."""
    expected = Expected("https://id.example", "postroad", "n")
    read_id_token(data.decode("latin-1"), KEYS, expected, 0.0)


def published(data: bytes) -> None:
    """As the other answers of a provider are read."""
    with suppress(BadInput):
        check_address(data.decode("latin-1"), "issuer")
    RULES.member(data.decode("latin-1"), {"groups": data.decode("latin-1").split(",")})
    for kind in (ProviderSettings, KeySet, IdentityAnswer):
        with suppress(ProviderAway):
            _decode(data, kind)


DOORS = (
    Door(
        "an error on a page",
        shown,
        ("dashboard/asking.py:HINTS", "engine/drafting.py:CONTROL"),
        frames=(BARE, (b": see `postroad ", b"`"), (b"; see settings.", b"")),
        shapes={
            "hints": lambda n: b", see `postroad x" * (n // 17),
            "settings": lambda n: b", see settings.a" * (n // 16),
        },
    ),
    Door(
        "an ID token",
        signed,
        (
            "dashboard/logins/id_token.py:HEADER",
            "dashboard/logins/id_token.py:CLAIMS",
            "dashboard/logins/id_token.py:BASE64",
            "dashboard/logins/id_token.py:read_id_token",
        ),
        frames=(BARE, *((head, b".e30.AAAA") for head in HEADS), (HEADS[0] + b"e30.", b"")),
        size=32_000,
        raises=(Unauthorized,),
    ),
    Door(
        "a provider's answers",
        published,
        (
            "api/login_file.py:PLAIN",
            "api/login_file.py:check_address",
            "api/login_file.py:_is_here",
            "api/login_file.py:_claim",
            "dashboard/logins/entering.py:Logins",
        ),
        frames=(BARE, (b'{"keys": [', b"]}"), (b'{"id_token": "', b'"}'), (b"https://", b"")),
        shapes={"deep": lambda n: b'{"a":' * (n // 5)},
    ),
    Door(
        "a request for the portal",
        visited,
        (
            "dashboard/portal/application.py:Portal",
            "dashboard/portal/texts.py:_chosen",
            "dashboard/portal/errors.py:STATUS",
            "dashboard/portal/actions.py:_fields",
        ),
        frames=(BARE, (b"/portal/", b""), (b"en;q=", b", de"), (b"500 ", b"!")),
    ),
    Door(
        "the sites and the colour of a portal link",
        asked_for,
        ("model/portal.py:ORIGIN", "model/portal.py:COLOUR"),
        frames=(BARE, (b"https://", b":443"), (b"https://[", b"]"), (b"#", b"")),
        raises=(BadInput,),
    ),
    Door(
        "a request for a page",
        read,
        (
            "dashboard/application.py:Dashboard",
            "dashboard/guarding.py:cookies",
            "dashboard/views/campaigns.py:file_stem",
            "dashboard/passing.py:pass_on",
            "dashboard/pages.py:find_page",
            "dashboard/paging.py:TYPED",
            "dashboard/rendering.py:coded",
            "dashboard/views/endpoints.py:_create",
        ),
        frames=(
            BARE,
            (b"/messages/", b""),
            (b"a=", b"; b=c"),
            (b"/%2f%2f", b""),
            (b"2026-01-31T12:00:00.", b""),
            (b"`", b"`"),
        ),
        shapes={"many cookies": lambda n: b"; ".join(b"a%d=b" % i for i in range(n // 8))},
    ),
    Door(
        "a form of a page",
        lambda data: asyncio.run(read_form(asked(data), 5_000)),
        ("dashboard/forms.py:read_form",),
        frames=(BARE, (b"a=", b"")),
        shapes={"many fields": lambda n: b"&".join(b"a%d=b" % i for i in range(n // 8))},
        raises=(BadRequest,),
    ),
    Door(
        "a form with a file",
        lambda data: asyncio.run(uploaded(data)),
        ("dashboard/multipart.py:KIND", "dashboard/multipart.py:NAMED"),
        frames=(
            BARE,
            (PART + b'"a"; filename="', b""),
            (PART + b'"a"; filename="b"\r\n\r\n', b"\r\n--x--"),
            (PART + b'"a"\r\n\r\n', b"\r\n--x--"),
            (PART + b'"a"; filename="b"\r\n\r\n', b""),
        ),
        shapes={
            "half boundaries": lambda n: FILE + b"\r\n--" * (n // 4),
            "many parts": lambda n: (PART + b'"a"\r\n\r\nb\r\n') * (n // 50),
            "names": lambda n: PART + b"; name=" * (n // 7),
        },
        raises=(BadRequest, UnsupportedMediaType),
    ),
)
