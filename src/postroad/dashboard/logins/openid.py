"""Logging in by an OpenID provider: to its page, and back with a code (authorization code flow with
PKCE). What belongs to a login is in a cookie of the browser that began it, and nowhere else: any
process of the fleet may answer its end."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from postroad.api.login_file import OpenId
from postroad.api.request import Request
from postroad.dashboard import guarding
from postroad.dashboard.logins.provider import Provider
from postroad.model.errors import Unauthorized
from postroad.model.foreign import clean
from postroad.ports.clock import Clock
from postroad.ports.entropy import secret_bytes

FLOW: Final = "postroad_login"
FLOW_S: Final = 600
SECRET_BYTES: Final = 32
BACK: Final = "/login/return"


class OpenIdLogin:
    """The two steps of a login, and the way out."""

    def __init__(self, openid: OpenId, clock: Clock) -> None:
        self.name = openid.name
        self._openid = openid
        self._provider = Provider(openid, clock)

    async def begin(self, request: Request) -> tuple[str, str]:
        """The provider's address to go to, and the cookie that belongs to this login."""
        published = await self._provider.published()
        secret = _text(secret_bytes(SECRET_BYTES))
        asked = {
            "response_type": "code",
            "client_id": self._openid.client_id,
            "redirect_uri": _redirect(request),
            "scope": " ".join(dict.fromkeys(("openid", *self._openid.scopes))),
            "state": _drawn(secret, "state"),
            "nonce": _drawn(secret, "nonce"),
            "code_challenge": _text(sha256(_drawn(secret, "verifier").encode()).digest()),
            "code_challenge_method": "S256",
        }
        # Strict would not come back with the answer, which another site leads to.
        kept = guarding.cookie(request, FLOW, secret, FLOW_S, same_site="Lax")
        return _with(published.authorization_endpoint, asked), kept

    async def end(self, request: Request, given: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """The name and the claims of the person who comes back. Unauthorized if this browser began
        no such login, or the provider's word cannot be believed."""
        secret = guarding.cookies(request).get(guarding.cookie_name(request, FLOW), "")
        state = _drawn(secret, "state")
        if not secret or not compare_digest(given.get("state", "").encode(), state.encode()):
            raise Unauthorized("this browser began no such login, or too long ago: sign in again")
        if given.get("iss", self._openid.issuer) != self._openid.issuer:  # RFC 9207
            raise Unauthorized("the answer is of another provider: sign in again")
        if "code" not in given:
            why = clean(given.get("error", "no code"), 100)
            raise Unauthorized(f"{self.name} did not log you in: {why}")
        claims = await self._provider.claims(
            given["code"], _drawn(secret, "verifier"), _redirect(request), _drawn(secret, "nonce")
        )
        return _name(claims), claims

    async def leave(self, request: Request) -> str:
        """Where the provider's own session is ended; empty if it has no such page."""
        place = (await self._provider.published()).end_session_endpoint
        back = _redirect(request).removesuffix(BACK) + "/login?out=1"
        asked = {"client_id": self._openid.client_id, "post_logout_redirect_uri": back}
        return _with(place, asked) if place else ""


def _name(claims: dict[str, Any]) -> str:
    """Who it is in the audit log: what the person cannot choose, where there is such a thing."""
    email = claims.get("email") if claims.get("email_verified") in (True, "true") else None
    named = (email, claims.get("preferred_username"), claims["sub"])
    return next(text for text in named if isinstance(text, str) and text)


def _redirect(request: Request) -> str:
    """Our address, which the provider leads back to if it is registered there."""
    return f"{request.scheme}://{request.headers.get('host', '')}{BACK}"


def _with(url: str, query: dict[str, str]) -> str:
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(query)}"


def _drawn(secret: str, purpose: str) -> str:
    """One of the values of a login, drawn from its secret: who knows one knows no other."""
    return _text(sha256(f"{purpose}:{secret}".encode()).digest())


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
