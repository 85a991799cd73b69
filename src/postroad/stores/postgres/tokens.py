"""Access tokens: only a hash of each is kept."""

from asyncpg import Record

from postroad.model.states import NEVER
from postroad.model.tokens import Role, Scope, Token
from postroad.stores.postgres.base import PostgresBase


class PostgresTokens(PostgresBase):
    """Keeps access tokens."""

    async def token_add(self, token: Token, digest: bytes) -> None:
        """Keep a new token."""
        self._check_open()
        scopes, until_ms = " ".join(token.scopes), token.expires_at_ms or NEVER
        whose = (token.id, token.tenant, token.name)
        values = (*whose, scopes, digest, token.created_at_ms, until_ms, token.role or "")
        _ = await self._side.rows("tokens", "token_insert", values)  # it gives no rows

    async def token_find(self, identity: str) -> tuple[Token, bytes] | None:
        """The token of that id, with its hash."""
        self._check_open()
        rows = await self._side.rows("tokens", "token_find", (identity,))
        return (read_token(rows[0]), rows[0]["digest"]) if rows else None

    async def token_page(self, tenant: str | None) -> list[Token]:
        """A tenant's tokens, or all of them."""
        self._check_open()
        return [read_token(row) for row in await self._side.rows("tokens", "token_page", (tenant,))]

    async def token_drop(self, tenant: str | None, identity: str) -> bool:
        """Delete a token."""
        self._check_open()
        return bool(await self._side.rows("tokens", "token_delete", (tenant, identity)))


def read_token(row: Record) -> Token:
    """A token from its row."""
    until_ms = row["expires_at"] if row["expires_at"] < NEVER else None
    scopes = tuple(Scope(scope) for scope in row["scopes"].split())
    role = Role(row["role"]) if row["role"] else None
    whose = (row["id"], row["tenant"], row["name"])
    return Token(*whose, scopes, row["created_at"], until_ms, role)
