"""Links to the portal, where the customers of one tenant look after their own endpoints."""

from collections.abc import Iterable
from typing import Final, TypedDict, Unpack

from msgspec import Struct

from postroad.model.errors import BadInput, Unauthorized, UnknownToken
from postroad.model.portal import (
    MINUTES_MAX,
    PortalLink,
    PortalRight,
    PortalTheme,
    check_look,
    check_origins,
    check_rights,
    scopes_of,
)
from postroad.model.tokens import (
    EVERY_TENANT,
    SECRET_BYTES,
    Caller,
    TokenKind,
    digest,
    write,
)
from postroad.ports.clock import Clock
from postroad.ports.entropy import secret_bytes
from postroad.ports.tokens import Tokens
from postroad.verbs.bounding import bounded
from postroad.verbs.tokens import NewToken, check_rank, check_tenant, find_token

KINDS: Final = (TokenKind.portal_link, TokenKind.portal)
LINK_GONE: Final = (
    "this link was opened before, has ended, or is not whole: go back to where you got it and open "
    "the page again"
)


class PortalLook(TypedDict, total=False):
    """How the page looks."""

    title: str
    """What stands at its head, as the name of your product."""
    accent: str
    """The colour of links and buttons, as `#2c56c9`."""
    theme: str
    """`light`, `dark`, or `system`: as the viewer's system is set."""


class NewPortalLink(Struct, frozen=True):
    """A link that opens the portal once. `url` is whole where the server's own address is known:
    by `mail.public_url`, or else where it listens."""

    id: str
    url: str
    path: str
    ends_at_ms: int


@bounded
class PortalAdmin:
    """Make links to the portal of a tenant, list and revoke them."""

    def __init__(self, store: Tokens, clock: Clock, public_url: str) -> None:
        self._store = store
        self._clock = clock
        self._public_url = public_url.rstrip("/")

    async def link(
        self,
        tenant: str,
        *,
        minutes: int = 60,
        allow: Iterable[str] = tuple(PortalRight),
        origins: Iterable[str] = (),
        by: Caller | None = None,
        **look: Unpack[PortalLook],
    ) -> NewPortalLink:
        """Make a link that opens the portal of one tenant once, and lasts for so many minutes.
        `origins` may embed it; without them it is opened as a page of its own. A link that is made
        `by` the holder of a token gives no more rights."""
        if tenant == EVERY_TENANT:
            raise BadInput("tenant: a link is for one tenant: name it")
        check_tenant(tenant)
        if not 1 <= minutes <= MINUTES_MAX:
            raise BadInput(f"minutes={minutes}: give 1 to {MINUTES_MAX}")
        rights, now_ms = check_rights(allow), self._clock.now_ms()
        until_ms, scopes = now_ms + minutes * 60_000, scopes_of(rights)
        if by is not None:
            _ = check_rank(by, tenant, scopes, until_ms)  # only whether it may
        title, accent, theme = check_look(
            look.get("title", ""), look.get("accent", ""), look.get("theme", PortalTheme.system)
        )
        made = PortalLink(
            secret_bytes(4).hex(),
            tenant,
            "portal",
            scopes,
            now_ms,
            until_ms,
            kind=TokenKind.portal_link,
            allow=rights,
            origins=check_origins(origins),
            title=title,
            accent=accent,
            theme=theme,
        )
        code = write(made.id, secret_bytes(SECRET_BYTES))
        await self._store.token_sweep(now_ms)
        await self._store.token_add(made, digest(code))
        path = f"/portal/{made.id}#{code}"
        url = f"{self._public_url}{path}" if self._public_url else ""
        return NewPortalLink(made.id, url, path, until_ms)

    async def open(self, code: str) -> NewToken:
        """Exchange the code of a link for its token. Unauthorized if it is unknown, used or too
        old."""
        found = await find_token(self._store, code)
        good = isinstance(found, PortalLink) and found.kind is TokenKind.portal_link
        if found is None or not good or (found.expires_at_ms or 0) <= self._clock.now_ms():
            raise Unauthorized(LINK_GONE)
        text = write(found.id, secret_bytes(SECRET_BYTES))
        exchange = self._store.token_exchange
        if not await exchange(found.id, digest(code), digest(text), TokenKind.portal):
            raise Unauthorized(LINK_GONE)  # another was first
        return NewToken(found, text)

    async def find(self, id: str) -> PortalLink | None:  # noqa: A002
        """A link that has not ended, by its id; None if there is none."""
        found = await self._store.token_find(id)
        link = found[0] if found else None
        good = isinstance(link, PortalLink) and (link.expires_at_ms or 0) > self._clock.now_ms()
        return link if isinstance(link, PortalLink) and good else None

    async def list(self, *, tenant: str | None = None) -> list[PortalLink]:
        """The links of a tenant that have not ended, or of all (None), the oldest first."""
        now_ms = self._clock.now_ms()
        found = [one for kind in KINDS for one in await self._store.token_page(tenant, kind)]
        links = [one for one in found if isinstance(one, PortalLink)]
        good = [one for one in links if (one.expires_at_ms or 0) > now_ms]
        return sorted(good, key=lambda one: (one.created_at_ms, one.id))

    async def revoke(self, id: str, *, tenant: str | None = None) -> None:  # noqa: A002
        """Revoke a link, opened or not: its page can do nothing more."""
        for kind in KINDS:  # as it is opened: a link that is opened in between is found too
            if await self._store.token_drop(tenant, id, kind):
                return
        raise UnknownToken(f"there is no link {id!r}: see `postroad portal list`")
