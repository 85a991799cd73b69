"""Bodies of messages in answers."""

from base64 import b64encode
from typing import Final

import msgspec
from msgspec import Raw

from postroad.api.request import Request
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
