"""Tokens of mailboxes: they are random, shown once, stored as hashes and compared in constant
time."""

from base64 import urlsafe_b64encode
from hmac import compare_digest
from typing import Final

from msgspec import Struct

from postroad.hub.frames import Created
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.mailbox import Box, HubLimits, digest
from postroad.ports.entropy import secret_bytes

NAME_BYTES: Final = 16
TOKEN_BYTES: Final = 24


class HubTokens(Struct, frozen=True):
    """Hashes of the hub's own tokens. With `create` a client may make mailboxes over the wire;
    without it nobody may. With `send` it may send to any mailbox, as an engine does."""

    create: bytes | None = None
    send: bytes | None = None


def hub_tokens(create: str = "", send: str = "") -> HubTokens:
    """Hash the tokens; an empty one is not set."""
    return HubTokens(digest(create) if create else None, digest(send) if send else None)


def token_matches(kept: bytes | None, token: bytes) -> bool:
    """Whether a token is the stored one. It takes the same time when none is stored."""
    return compare_digest(kept or bytes(32), token)


def new_token() -> str:
    """Make a token that nobody can guess."""
    return _text(TOKEN_BYTES)


def new_box(
    limits: HubLimits, quota: int = 0, ttl_s: int = 0, tenant: str = DEFAULT_TENANT
) -> tuple[Box, Created]:
    """Make a mailbox to be stored, and the answer that shows its tokens this once."""
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
    """Names do not begin with a dash: the command line would take one for an option."""
    while (text := _text(NAME_BYTES)).startswith("-"):
        pass
    return text


def _text(count: int) -> str:
    return urlsafe_b64encode(secret_bytes(count)).decode().rstrip("=")
