"""Access tokens in the store: only a hash of each is kept."""

from typing import Protocol, runtime_checkable

from postroad.model.tokens import Token, TokenKind


@runtime_checkable
class Tokens(Protocol):
    """Keeps access tokens, so that a server knows its callers."""

    async def token_add(self, token: Token, digest: bytes) -> None:
        """Store a new token."""

    async def token_find(self, identity: str) -> tuple[Token, bytes] | None:
        """Return the token of that id, with its hash."""

    async def token_page(
        self, tenant: str | None, kind: TokenKind = TokenKind.program
    ) -> list[Token]:
        """List a tenant's tokens of a kind, or those of all tenants (None), the oldest first."""

    async def token_drop(self, tenant: str | None, identity: str, kind: TokenKind) -> bool:
        """Delete a token; False when there is none of that id and kind, or it is another
        tenant's."""

    async def token_exchange(
        self, identity: str, digest: bytes, fresh: bytes, kind: TokenKind
    ) -> bool:
        """Give the token with this hash another one and another kind; False if it has none such."""

    async def token_sweep(self, now_ms: int) -> None:
        """Delete logins, sessions and links to the portal whose time is over."""
