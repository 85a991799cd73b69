"""Tokens: random, shown once, kept as hashes, compared in constant time."""

from base64 import urlsafe_b64encode
from hmac import compare_digest
from typing import Final

from msgspec import Struct

from postroad.hub.frames import Created
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.mailbox import Box, HubLimits, digest
from postroad.ports.secret import secret_bytes

NAME_BYTES: Final = 16
TOKEN_BYTES: Final = 24


class Keys(Struct, frozen=True):
    """The hub's own tokens, as hashes. `create`: who may make mailboxes over the wire; without
    it nobody may. `send`: who may send to any mailbox, as an engine does."""

    create: bytes | None = None
    send: bytes | None = None


def keys(create: str = "", send: str = "") -> Keys:
    """Hash these tokens; an empty one stands for none."""
    return Keys(digest(create) if create else None, digest(send) if send else None)


def fits(kept: bytes | None, token: bytes) -> bool:
    """Whether this is the token that is kept. Takes as long when none is."""
    return compare_digest(kept or bytes(32), token)


def new_token() -> str:
    """A random token that cannot be guessed."""
    return _text(TOKEN_BYTES)


def new_box(
    limits: HubLimits, quota: int = 0, ttl_s: int = 0, tenant: str = DEFAULT_TENANT
) -> tuple[Box, Created]:
    """A mailbox to be stored, and what its owner is told this once."""
    sender, recipient = new_token(), new_token()
    box = Box(
        _name(),
        digest(sender),
        digest(recipient),
        tenant,
        quota=quota or limits.quota,
        ttl_ms=ttl_s * 1000 or limits.ttl_ms,
    )
    told = Created(box=box.name, sender_token=sender, recipient_token=recipient, quota=box.quota)
    return box, told


def _name() -> str:
    """None that begins with a dash: the command line would take it for an option."""
    while (text := _text(NAME_BYTES)).startswith("-"):
        pass
    return text


def _text(count: int) -> str:
    return urlsafe_b64encode(secret_bytes(count)).decode().rstrip("=")
