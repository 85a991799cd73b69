"""Sessions of people in browsers: a login link is exchanged once for a session."""

from typing import Final

from msgspec import Struct

from postroad.model.errors import BadInput, Unauthorized, UnknownToken
from postroad.model.tokens import (
    EVERY_TENANT,
    SCOPES_OF,
    SECRET_BYTES,
    Caller,
    Role,
    Token,
    TokenKind,
    digest,
    write,
)
from postroad.ports.clock import Clock
from postroad.ports.entropy import secret_bytes
from postroad.ports.tokens import Tokens
from postroad.verbs.bounding import bounded
from postroad.verbs.tokens import (
    NAME_CHARACTERS_MAX,
    NewToken,
    check_rank,
    check_role,
    check_tenant,
    find_token,
)

LOGIN_S: Final = 900
"""A login link is good for so long, and once."""
SESSION_S: Final = 43_200
"""A working day; then the person logs in again."""


class NewLogin(Struct, frozen=True):
    """A login code: the first who opens its link has the session. Only its hash is stored."""

    code: str
    ends_at_ms: int


@bounded
class SessionAdmin:
    """Make login links, list the sessions of people, and end them."""

    def __init__(self, store: Tokens, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def login(
        self,
        name: str,
        *,
        role: str = Role.admin,
        tenant: str = EVERY_TENANT,
        by: Caller | None = None,
    ) -> NewLogin:
        """Make a login code for a person: good once, within 15 minutes. A code that is made `by`
        the holder of a token gives no more rights; what its session makes ends with that token."""
        if not name or len(name) > NAME_CHARACTERS_MAX:
            raise BadInput("name: say who will log in")
        check_tenant(tenant)
        named = check_role(role, tenant) or Role.admin
        now_ms = self._clock.now_ms()
        if by is not None:
            until_ms = now_ms + (LOGIN_S + SESSION_S) * 1000
            _ = check_rank(by, tenant, SCOPES_OF[named], until_ms)  # only whether it may
        await self._store.token_sweep(now_ms)
        ends_ms = by.ends_at_ms if by is not None else None
        made = await self._add(TokenKind.login, name, tenant, named, ends_ms)
        return NewLogin(made.secret, made.token.expires_at_ms or 0)

    async def open(self, code: str) -> NewToken:
        """Exchange a login code for a session. Unauthorized if it is unknown, used or too old."""
        found = await find_token(self._store, code)
        good = found is not None and found.kind is TokenKind.login
        if found is None or not good or (found.expires_at_ms or 0) <= self._clock.now_ms():
            raise Unauthorized(LINK_GONE)
        if not await self._store.token_drop(None, found.id, TokenKind.login):  # another was first
            raise Unauthorized(LINK_GONE)
        whose = (found.name, found.tenant, found.role, found.makes_until_ms)
        return await self._add(TokenKind.session, *whose, found.id)

    async def list(self, *, tenant: str | None = None) -> list[Token]:
        """The sessions that are open for a tenant, or for all of them (None)."""
        found = await self._store.token_page(tenant, TokenKind.session)
        now_ms = self._clock.now_ms()
        return [one for one in found if (one.expires_at_ms or 0) > now_ms]

    async def end(self, id: str, *, tenant: str | None = None) -> None:  # noqa: A002
        """End a session: its browser is led to the login page."""
        if not await self._store.token_drop(tenant, id, TokenKind.session):
            raise UnknownToken(f"there is no session {id!r}: see `postroad session list`")

    async def _add(
        self,
        kind: TokenKind,
        name: str,
        tenant: str,
        role: Role | None,
        makes_until_ms: int | None,
        id: str = "",  # noqa: A002
    ) -> NewToken:
        """A session has the id of its link: one actor in the audit log."""
        now_ms = self._clock.now_ms()
        lasts_s = LOGIN_S if kind is TokenKind.login else SESSION_S
        token = Token(
            id or secret_bytes(4).hex(),
            tenant,
            name,
            SCOPES_OF[role or Role.admin],
            now_ms,
            now_ms + lasts_s * 1000,
            role,
            kind,
            makes_until_ms,
        )
        text = write(token.id, secret_bytes(SECRET_BYTES))
        await self._store.token_add(token, digest(text))
        return NewToken(token, text)


LINK_GONE: Final = (
    "this login link is used, older than 15 minutes, or not whole: `postroad login` makes another"
)
