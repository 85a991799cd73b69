"""Access checks: bearer tokens and their scopes, host and origin, and a limit on wrong tokens."""

from collections import OrderedDict
from hmac import compare_digest
from typing import Final

from msgspec import structs

from postroad.api.hosts import Hosts
from postroad.api.in_process import IN_PROCESS
from postroad.api.request import Request
from postroad.model.cors import Cors
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import Forbidden, TooManyTries, Unauthorized
from postroad.model.networks import network
from postroad.model.tokens import SECRET_BYTES, Caller, Scope, digest, write
from postroad.ports.clock import Clock
from postroad.ports.entropy import secret_bytes
from postroad.verbs.tokens import TokenAdmin, check_one_tenant

KNOWN_S: Final = 2.0
"""How long a token is cached; a revoked one may work that long in other processes."""
KNOWN_MAX: Final = 10_000
WRONG_MAX: Final = 10
WRONG_S: Final = 60.0
"""After so many wrong tokens a minute from one address, no unknown token of it is looked up. The
same one again counts once: the open pages of a session that has ended are no guesses."""
TENANT_HEADER: Final = "postroad-tenant"
USER_HEADER: Final = "postroad-user"
"""The number and name of the user who runs a command; heeded with the local token only."""
NOT_KNOWN: Final = "this access token is not known: mistyped, revoked or out of date"
LOCAL: Final = "local"
WINDOW: Final = "window"
"""The actors in the audit log: a command that opened the store itself, and a process that asks over
the road's window."""


class Access:
    """Identifies callers. `local` is a token of this process, for commands on this machine."""

    def __init__(
        self, tokens: TokenAdmin, clock: Clock, origins: tuple[str, ...], hosts: Hosts
    ) -> None:
        self._tokens = tokens
        self._clock = clock
        self.cors = Cors(origins)
        self._hosts = hosts
        self._known: OrderedDict[bytes, tuple[float, Caller]] = OrderedDict()
        self._wrong: OrderedDict[str, dict[bytes, float]] = OrderedDict()
        self.local = write(secret_bytes(4).hex(), secret_bytes(SECRET_BYTES))
        self._local = digest(self.local)

    async def check(self, asker: Request, scope: Scope | None, operation: str = "") -> None:
        """Refuse a request without what its route needs. Runs before every route; without a scope
        a route needs no token. The name of its `operation` is for tokens that are confined."""
        self._check_host(asker)
        self._check_origin(asker)
        if scope is None:
            return
        found = asker.who = await self.identify(asker)
        if scope not in found.scopes:
            has = ", ".join(sorted(found.scopes))
            raise Forbidden(f"this needs a token with the scope {scope}; yours has: {has}")
        check_confined(found, operation)
        asker.who = self._for_tenant(found, asker.headers.get(TENANT_HEADER))

    def _check_host(self, asker: Request) -> None:
        host = asker.headers.get("host", "")
        inside = asker.client is IN_PROCESS or asker.peer is not None
        if host and not inside and not self._hosts.allows(host):
            raise Forbidden(
                f"this server has no name {host[:100]!r}: see the setting allowed_hosts"
            )

    def _check_origin(self, asker: Request) -> None:
        origin = asker.headers.get("origin")
        if origin is None or self.cors.allows(origin):
            return
        if origin.partition("://")[2] != asker.headers.get("host"):
            raise Forbidden("requests from other sites' pages are refused: see the setting origins")

    async def identify(self, asker: Request) -> Caller:
        """Identify the caller; Unauthorized for a token that nobody has."""
        if asker.peer is not None:  # the kernel has said who it is
            user = asker.peer.user
            return Caller(DEFAULT_TENANT, frozenset(Scope), WINDOW, every_tenant=True, name=user)
        kind, _, text = asker.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not text:
            raise Unauthorized(
                "give an access token: `Authorization: Bearer …`; `postroad token make` makes one"
            )
        key = digest(text)
        if compare_digest(key, self._local):
            return self._local_caller(asker)
        now_s = self._clock.steady_s()
        known = self._known.get(key)
        if known is not None and now_s - known[0] < KNOWN_S and not self._is_over(known[1]):
            return known[1]
        address = network(asker.client[0]) if asker.client else ""
        if known is None:
            self._check_wrong_tokens(address, key, now_s)
        found = await self._tokens.who(text)
        if found is None:
            self._known.pop(key, None)
            self._note_wrong(address, key, now_s)
            raise Unauthorized(NOT_KNOWN)
        self._known[key] = (now_s, found)
        while len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
        return found

    def _local_caller(self, asker: Request) -> Caller:
        """Identify a caller with the local token. The token is in the road's private files, so its
        word about which user it is counts."""
        user = asker.headers.get(USER_HEADER, "")
        return Caller(DEFAULT_TENANT, frozenset(Scope), LOCAL, every_tenant=True, name=user)

    def _is_over(self, found: Caller) -> bool:
        return found.ends_at_ms is not None and found.ends_at_ms <= self._clock.now_ms()

    def _check_wrong_tokens(self, address: str, key: bytes, now_s: float) -> None:
        recent = self._recently_wrong(address, now_s)
        if key in recent:
            raise Unauthorized(NOT_KNOWN)
        if len(recent) >= WRONG_MAX:
            raise TooManyTries("too many wrong access tokens from your address: wait a minute")

    def _note_wrong(self, address: str, key: bytes, now_s: float) -> None:
        recent = self._recently_wrong(address, now_s)
        self._wrong.pop(address, None)
        self._wrong[address] = recent | {key: now_s}
        while len(self._wrong) > KNOWN_MAX:
            self._wrong.popitem(last=False)

    def _recently_wrong(self, address: str, now_s: float) -> dict[bytes, float]:
        """The hashes of an address's wrong tokens, and when each was looked up."""
        seen = self._wrong.get(address, {})
        return {key: at for key, at in seen.items() if now_s - at < WRONG_S}

    def _for_tenant(self, found: Caller, tenant: str | None) -> Caller:
        if tenant is None or tenant == found.tenant:
            return found
        if not found.every_tenant:
            raise Forbidden(f"this token is not for the tenant {tenant!r}")
        check_one_tenant(tenant)
        return structs.replace(found, tenant=tenant)

    def forget(self) -> None:
        """Empty the cache: a token was revoked here."""
        self._known.clear()


def check_confined(found: Caller, operation: str) -> None:
    """Refuse what the link of a portal does not allow."""
    if found.only is not None and operation not in found.only:
        raise Forbidden(f"your link to the portal does not allow {operation or 'this'}")
