"""Access tokens: their scopes and roles, and how their text is written and read."""

from base64 import urlsafe_b64encode
from enum import StrEnum
from hashlib import sha256
from typing import Final
from zlib import crc32

from msgspec import Struct

PREFIX: Final = "prt"
ID_CHARACTERS: Final = 8
SECRET_BYTES: Final = 32
CHECK_CHARACTERS: Final = 6
EVERY_TENANT: Final = "*"
DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Scope(StrEnum):
    """What a token may be used for."""

    send = "send"
    """Hand over messages."""
    read = "read"
    """Look at everything of its tenant."""
    manage = "manage"
    """Cancel, pause, resume, unblock, replay, purge."""
    admin = "admin"
    """Make and revoke tokens, read the audit log, export and erase."""
    bodies = "bodies"
    """See the bodies and headers of messages."""


class Role(StrEnum):
    """A set of scopes with a name, for tokens and people. What counts are the scopes."""

    read = "read"
    """Look at everything."""
    operate = "operate"
    """Everything but tokens, keys, the audit log and erasing."""
    admin = "admin"
    """Everything."""
    tenant = "tenant"
    """As operate, for one tenant and never for all."""


SCOPES_OF: Final = {
    Role.read: (Scope.read,),
    Role.operate: tuple(scope for scope in Scope if scope is not Scope.admin),
    Role.admin: tuple(Scope),
    Role.tenant: tuple(scope for scope in Scope if scope is not Scope.admin),
}


class TokenKind(StrEnum):
    """What a token is for."""

    program = "program"
    """A program's, sent with each request."""
    login = "login"
    """In a login link: exchanged once for a session, and good for nothing else."""
    session = "session"
    """A person's, in the cookie of a browser."""
    portal_link = "portal_link"
    """In a link to the portal: exchanged once for its token, and good for nothing else."""
    portal = "portal"
    """The token of a portal page that was opened: it may do what the link allows."""


class Token(Struct, frozen=True):
    """An access token without its secret. Tenant `*` may speak for every tenant."""

    id: str
    tenant: str
    name: str
    scopes: tuple[Scope, ...]
    created_at_ms: int
    expires_at_ms: int | None = None
    role: Role | None = None
    """The role that it was made with; None when its scopes were named."""
    kind: TokenKind = TokenKind.program
    makes_until_ms: int | None = None
    """A session's: when the token ends that let the person in; so does what the session makes."""


class Caller(Struct, frozen=True):
    """Who makes a request: for which tenant, and with which scopes. `token` is the token's id, or
    `local`; `name` is the token's, or the local user's."""

    tenant: str
    scopes: frozenset[Scope]
    token: str
    every_tenant: bool = False
    ends_at_ms: int | None = None
    name: str = ""
    only: frozenset[str] | None = None
    """The operations that it is confined to; None: all that its scopes allow."""


def write(identity: str, secret: bytes) -> str:
    """Write the token as its owner gets it, once: prefix, id, 256 bits, check sum."""
    body = f"{PREFIX}_{identity}_{urlsafe_b64encode(secret).decode().rstrip('=')}"
    return body + _sum(body)


def identity_of(text: str) -> str | None:
    """Read the id in a token's text; None when it is mistyped, cut off or not ours."""
    body, check = text[:-CHECK_CHARACTERS], text[-CHECK_CHARACTERS:]
    parts = body.split("_", 2)
    if len(parts) != 3 or parts[0] != PREFIX or len(parts[1]) != ID_CHARACTERS:
        return None
    return parts[1] if body.isascii() and check == _sum(body) else None


def digest(text: str) -> bytes:
    """Hash a token for the store. 256 random bits need no salt and no slow hash."""
    return sha256(text.encode()).digest()


def _sum(body: str) -> str:
    left, text = crc32(body.encode()), ""
    for _ in range(CHECK_CHARACTERS):
        left, digit = divmod(left, len(DIGITS))
        text += DIGITS[digit]
    return text
