"""Access tokens in the store: only a hash of each is kept."""

from typing import Protocol, runtime_checkable

from postroad.model.tokens import Token


@runtime_checkable
class Tokens(Protocol):
    """What a store needs so that a server can tell who asks."""

    async def token_add(self, token: Token, digest: bytes) -> None:
        """Keep a new token."""

    async def token_find(self, identity: str) -> tuple[Token, bytes] | None:
        """The token of that id, with its hash."""

    async def token_page(self, tenant: str | None) -> list[Token]:
        """A tenant's tokens, or all of them (None), the oldest first."""

    async def token_drop(self, tenant: str | None, identity: str) -> bool:
        """Forget it; False when there is none of that id, or it is another tenant's."""
