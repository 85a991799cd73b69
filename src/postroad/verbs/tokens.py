"""Access tokens: make, list, revoke, and find the holder of one."""

from collections.abc import Iterable
from hmac import compare_digest

from msgspec import Struct

from postroad.model.durations import CENTURY_S, Duration, seconds_of
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, Forbidden, UnknownToken
from postroad.model.portal import PortalLink
from postroad.model.tokens import (
    EVERY_TENANT,
    SCOPES_OF,
    SECRET_BYTES,
    Caller,
    Role,
    Scope,
    Token,
    TokenKind,
    digest,
    identity_of,
    write,
)
from postroad.ports.clock import Clock
from postroad.ports.entropy import secret_bytes
from postroad.ports.tokens import Tokens
from postroad.verbs.bounding import bounded

NAME_CHARACTERS_MAX = 200


class NewToken(Struct, frozen=True):
    """A new token with its secret, which is not stored and cannot be shown again."""

    token: Token
    secret: str


@bounded
class TokenAdmin:
    """Make, list and revoke access tokens."""

    def __init__(self, store: Tokens, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def make(
        self,
        name: str,
        *,
        scopes: Iterable[str] | None = None,
        role: str | None = None,
        tenant: str = DEFAULT_TENANT,
        lasts_s: Duration | None = None,
        by: Caller | None = None,
    ) -> NewToken:
        """Make a token with a role or with scopes, all of them unless given. Its secret is in the
        answer and cannot be read again. A token that is made `by` the holder of another has no
        more rights, and expires no later."""
        if not name or len(name) > NAME_CHARACTERS_MAX:
            raise BadInput("name: say in a few words who will use the token")
        life_s = CENTURY_S if lasts_s is None else seconds_of(lasts_s)
        if not 1 <= life_s <= CENTURY_S:
            raise BadInput(
                f"lasts_s={lasts_s!r}: give seconds or a timedelta, from one second to a century"
            )
        check_tenant(tenant)
        named = check_role(role, tenant)
        if named is not None and scopes is not None:
            raise BadInput("a role names the scopes: give role or scopes, one of them")
        asked = tuple(Scope) if scopes is None else scopes
        kinds = check_scopes(asked) if named is None else SCOPES_OF[named]
        now_ms = self._clock.now_ms()
        until_ms = None if lasts_s is None else now_ms + int(life_s * 1000)
        if by is not None:
            until_ms = check_rank(by, tenant, kinds, until_ms)
        token = Token(secret_bytes(4).hex(), tenant, name, kinds, now_ms, until_ms, named)
        text = write(token.id, secret_bytes(SECRET_BYTES))
        await self._store.token_add(token, digest(text))
        return NewToken(token, text)

    async def list(self, *, tenant: str | None = DEFAULT_TENANT) -> list[Token]:
        """The tokens of a tenant; None lists those of all tenants."""
        return await self._store.token_page(tenant)

    async def revoke(self, id: str, *, tenant: str | None = DEFAULT_TENANT) -> None:  # noqa: A002
        """Revoke a token: it is refused from now on."""
        if not await self._store.token_drop(tenant, id, TokenKind.program):
            raise UnknownToken(f"there is no token {id!r}: see `postroad token list`")

    async def who(self, text: str) -> Caller | None:
        """The holder of a token; None if it is unknown, revoked or expired."""
        token = await find_token(self._store, text)
        if token is None or token.kind in (TokenKind.login, TokenKind.portal_link):
            return None
        if token.expires_at_ms is not None and token.expires_at_ms <= self._clock.now_ms():
            return None
        every = token.tenant == EVERY_TENANT
        tenant = DEFAULT_TENANT if every else token.tenant
        # What a person makes may outlast the session, but not the token that let the person in.
        is_session = token.kind is TokenKind.session
        until_ms = token.makes_until_ms if is_session else token.expires_at_ms
        scopes = frozenset(token.scopes)
        only = token.operations if isinstance(token, PortalLink) else None
        return Caller(tenant, scopes, token.id, every, until_ms, token.name, only)


async def find_token(store: Tokens, text: str) -> Token | None:
    """The token of this text; None if there is none."""
    identity = identity_of(text)
    found = await store.token_find(identity) if identity else None
    return found[0] if found and compare_digest(found[1], digest(text)) else None


def check_rank(
    by: Caller, tenant: str, scopes: Iterable[Scope], until_ms: int | None
) -> int | None:
    """When a token that `by` makes expires; Forbidden if it had more rights or lasted longer."""
    if tenant != by.tenant and not by.every_tenant:
        raise Forbidden(f"your token is not for the tenant {tenant!r}")
    missing = set(scopes) - by.scopes
    if missing:
        raise Forbidden(f"you cannot give what you do not have: {', '.join(sorted(missing))}")
    if by.ends_at_ms is None:
        return until_ms
    if until_ms is not None and until_ms > by.ends_at_ms:
        raise Forbidden(
            "your token would end before the new one: give a smaller lasts_s, or none, and both "
            "end together"
        )
    return until_ms or by.ends_at_ms


def check_scopes(scopes: Iterable[str]) -> tuple[Scope, ...]:
    """The scopes, each once, or BadInput."""
    given = list(dict.fromkeys(scopes))
    for scope in given:
        if scope not in set(Scope):
            raise BadInput(f"scopes: {scope!r:.40} is none of {', '.join(Scope)}")
    if not given:
        raise BadInput(f"scopes: give at least one of {', '.join(Scope)}")
    return tuple(Scope(scope) for scope in given)


def check_role(role: str | None, tenant: str) -> Role | None:
    """The role, or BadInput."""
    if role is None:
        return None
    if role not in set(Role):
        raise BadInput(f"role: {role!r:.40} is none of {', '.join(Role)}")
    if role == Role.tenant and tenant == EVERY_TENANT:
        raise BadInput("role: `tenant` is for one tenant: name it; `operate` may be for all")
    return Role(role)


def check_tenant(tenant: str) -> None:
    """Raise BadInput if this cannot be the name of a tenant."""
    plain = tenant.isascii() and tenant.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if tenant != EVERY_TENANT and (not plain or len(tenant) > 100):
        raise BadInput(f"tenant {tenant!r}: give letters, digits, '-', '_' and '.', at most 100")


def check_one_tenant(tenant: str) -> None:
    """Raise BadInput if this cannot be the name of one tenant."""
    check_tenant(tenant)
    if tenant == EVERY_TENANT:
        raise BadInput("the tenant '*' is every tenant: name one")


def is_one_tenant(tenant: str) -> bool:
    """Whether this can be the name of one tenant."""
    try:
        check_one_tenant(tenant)
    except BadInput:
        return False
    return True
