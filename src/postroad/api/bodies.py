"""Bodies of messages in answers."""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Final

import msgspec
from msgspec import Raw

from postroad.api.problems import BadRequest
from postroad.api.request import Request
from postroad.model.problem import FieldError
from postroad.model.tokens import Scope

HIDDEN: Final = "bodies and headers are shown to tokens with the scope 'bodies'"


def sees_bodies(request: Request) -> bool:
    """Whether the caller may see bodies and headers."""
    return Scope.bodies in request.who.scopes


def shown_body(body: bytes) -> tuple[Raw, str | None]:
    """Return a body as JSON, or, if it is none, in base64."""
    try:
        body.decode()
        msgspec.json.decode(body)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return Raw(b"null"), b64encode(body).decode()
    return Raw(body), None


def from_base64(text: str) -> bytes:
    """Read a body that is given in base64; BadRequest if it is none."""
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError):
        what = "this is not base64"
        raise BadRequest(f"body_base64: {what}", (FieldError("body_base64", what),)) from None
