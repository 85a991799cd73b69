"""Access tokens: only a hash of each is kept."""

from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.portal import PortalLink, PortalRight, PortalTheme
from postroad.model.states import NEVER
from postroad.model.tokens import Role, Scope, Token, TokenKind
from postroad.stores.statements import Row, Statements


class PortalFacts(Struct, frozen=True):
    """What a link to the portal has beside what all tokens have."""

    allow: tuple[PortalRight, ...]
    origins: tuple[str, ...]
    title: str
    accent: str
    theme: PortalTheme


FACTS: Final = msgspec.json.Decoder(PortalFacts)


class TokenTable(Statements):
    """Stores access tokens."""

    async def token_add(self, token: Token, digest: bytes) -> None:
        """Store a new token."""
        scopes, until_ms = " ".join(token.scopes), token.expires_at_ms or NEVER
        whose = (token.id, token.tenant, token.name)
        times = (token.created_at_ms, until_ms)
        makes_ms = token.makes_until_ms or NEVER
        kind = (token.role or "", token.kind, makes_ms, _facts(token))
        values = (*whose, scopes, digest, *times, *kind)
        await self.execute("tokens", "token_insert", *values)

    async def token_find(self, identity: str) -> tuple[Token, bytes] | None:
        """The token of that id, with its hash."""
        row = await self.first("tokens", "token_find", identity)
        return (_token(row[:10]), row[10]) if row else None

    async def token_page(
        self, tenant: str | None, kind: TokenKind = TokenKind.program
    ) -> list[Token]:
        """A tenant's tokens of a kind, or those of all tenants."""
        return [_token(row) for row in await self.select("tokens", "token_page", tenant, kind)]

    async def token_drop(self, tenant: str | None, identity: str, kind: TokenKind) -> bool:
        """Delete it."""
        return await self.changes("tokens", "token_delete", tenant, identity, kind)

    async def token_exchange(
        self, identity: str, digest: bytes, fresh: bytes, kind: TokenKind
    ) -> bool:
        """Give a token another secret and kind; False if another was first."""
        return await self.changes("tokens", "token_exchange", identity, digest, fresh, kind)

    async def token_sweep(self, now_ms: int) -> None:
        """Delete logins, sessions and links to the portal whose time is over."""
        await self.execute("tokens", "token_sweep", now_ms)


def _token(row: Row) -> Token:
    identity, tenant, name, scopes, created_ms, expires_ms, role, kind, makes_ms, portal = row
    kinds = tuple(Scope(scope) for scope in scopes.split())
    until_ms, makes_until_ms = (ms if ms < NEVER else None for ms in (expires_ms, makes_ms))
    named, what = Role(role) if role else None, TokenKind(kind)
    whole = (identity, tenant, name, kinds, created_ms, until_ms, named, what, makes_until_ms)
    if not portal:
        return Token(*whole)
    facts = FACTS.decode(portal)
    return PortalLink(*whole, **msgspec.structs.asdict(facts))


def _facts(token: Token) -> str:
    if not isinstance(token, PortalLink):
        return ""
    facts = {name: getattr(token, name) for name in PortalFacts.__struct_fields__}
    return msgspec.json.encode(facts).decode()
