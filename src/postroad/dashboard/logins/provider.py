"""An OpenID provider: where its doors are, its keys, and what it gives for a code. Whatever it
answers is bounded in size and time."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Struct

from postroad.api.login_file import OpenId, check_address
from postroad.dashboard.logins.id_token import Expected, Jwk, UnknownKey, read_id_token
from postroad.model.errors import BadInput, PostroadError, Unauthorized
from postroad.model.foreign import clean
from postroad.model.webhook import WebhookRules
from postroad.ports.clock import Clock
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.connections import HttpAnswer, IdleConnections
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.requests import whole, written
from postroad.transports.webhook.resolving import Unresolved

RULES: Final = WebhookRules(allow=("0.0.0.0/0", "::/0"), http=True, ports=())
"""The operator names the provider, which is often on a private network."""
CONFIGURATION: Final = "/.well-known/openid-configuration"
ANSWER_BYTES_MAX: Final = 256 << 10
KEYS_MAX: Final = 100
KNOWN_S: Final = 3_600.0
"""How long what a provider publishes is used before it is asked for again."""
KEYS_AGAIN_S: Final = 10.0
"""A token with an unknown key has the keys fetched again, but not more often."""
AWAY_S: Final = 5.0
"""A provider that gave no answer of use is not asked again for so long: each who logs in would wait
for the one before."""
CODE_MAX: Final = 4_000
FORM: Final = {"content-type": "application/x-www-form-urlencoded"}
T = TypeVar("T")


class ProviderAway(PostroadError):
    """The provider cannot be reached or understood. Try again later, or log in by a link."""


class ProviderSettings(Struct, frozen=True):
    """What a provider publishes about itself (OpenID Connect Discovery)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class KeySet(Struct, frozen=True):
    """The keys that a provider publishes."""

    keys: tuple[msgspec.Raw, ...]

    def readable(self) -> tuple[Jwk, ...]:
        """Those that can be read: one of another form must not shut out others (RFC 7517, 5)."""
        found = []
        for each in self.keys[:KEYS_MAX]:
            with suppress(msgspec.ValidationError):
                found.append(msgspec.json.decode(each, type=Jwk))
        return tuple(found)


class IdentityAnswer(Struct, frozen=True):
    """What a provider gives for a code; its access token is not used."""

    id_token: str = ""
    error: str = ""


class Provider:
    """Asks a provider, and remembers for a while what it publishes."""

    def __init__(self, openid: OpenId, clock: Clock) -> None:
        self._openid = openid
        self._clock = clock
        self._http = VettedHttp(RULES, clock, IdleConnections())
        self._published: tuple[float, ProviderSettings] | None = None
        self._keys: tuple[float, tuple[Jwk, ...]] | None = None
        self._away: tuple[float, str] | None = None
        self._asking = asyncio.Lock()

    async def published(self) -> ProviderSettings:
        """Where its doors are."""
        async with self._asking:
            kept = self._published
            if kept is None or self._clock.steady_s() - kept[0] >= KNOWN_S:
                url = self._openid.issuer.rstrip("/") + CONFIGURATION
                with self._remembered():
                    found = await self._get(url, ProviderSettings)
                    self._check(found)
                kept = self._published = self._clock.steady_s(), found
        return kept[1]

    def _check(self, found: ProviderSettings) -> None:
        if found.issuer != self._openid.issuer:
            raise ProviderAway("the provider calls itself by another issuer than login_file does")
        try:
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                check_address(getattr(found, name), name)
            if found.end_session_endpoint:
                check_address(found.end_session_endpoint, "end_session_endpoint")
        except BadInput as error:
            raise ProviderAway(f"what the provider publishes cannot be used: {error}") from None

    async def claims(self, code: str, verifier: str, redirect: str, nonce: str) -> dict[str, Any]:
        """Who the person is that a code was given for. Unauthorized if that cannot be believed."""
        if len(code) > CODE_MAX:
            raise Unauthorized("the code of the login is too long")
        text = await self._exchange(code, verifier, redirect)
        expected = Expected(self._openid.issuer, self._openid.client_id, nonce)
        now_s = self._clock.now_ms() / 1000
        try:
            return read_id_token(text, await self._key_set(KNOWN_S), expected, now_s)
        except UnknownKey:  # it may have a new one
            return read_id_token(text, await self._key_set(KEYS_AGAIN_S), expected, now_s)

    async def _key_set(self, age_s: float) -> tuple[Jwk, ...]:
        address = (await self.published()).jwks_uri
        async with self._asking:
            kept = self._keys
            if kept is None or self._clock.steady_s() - kept[0] >= age_s:
                with self._remembered():
                    found = await self._get(address, KeySet)
                kept = self._keys = self._clock.steady_s(), found.readable()
        return kept[1]

    async def _exchange(self, code: str, verifier: str, redirect: str) -> str:
        published, own = await self.published(), self._openid
        fields = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        fields |= {"redirect_uri": redirect, "client_id": own.client_id}
        headers = {"accept": "application/json", **FORM}
        if "client_secret_basic" in published.token_endpoint_auth_methods_supported:
            pair = f"{quote_plus(own.client_id)}:{quote_plus(own.client_secret)}".encode()
            if own.client_secret:
                headers["authorization"] = f"Basic {b64encode(pair).decode()}"
        elif own.client_secret:
            fields["client_secret"] = own.client_secret
        body = urlencode(fields).encode()
        answer = await self._call("POST", published.token_endpoint, headers, body)
        said = _decode(answer.body, IdentityAnswer) if answer.status < 500 else None
        if answer.status != 200 or said is None:
            why = clean(said.error, 100) if said else f"it answers {answer.status}"
            raise Unauthorized(f"the provider does not take the login: {why}; sign in again")
        return said.id_token

    @contextmanager
    def _remembered(self) -> Iterator[None]:
        """While a provider is asked for what it publishes: that it is away is known for a while.
        The caller holds the lock."""
        away = self._away
        if away is not None and self._clock.steady_s() - away[0] < AWAY_S:
            raise ProviderAway(away[1])
        try:
            yield
        except ProviderAway as error:
            self._away = self._clock.steady_s(), str(error)
            raise

    async def _get(self, url: str, kind: type[T]) -> T:
        answer = await self._call("GET", url, {"accept": "application/json"}, b"")
        if answer.status != 200:
            raise ProviderAway(f"the provider answers {answer.status}: try again later")
        return _decode(answer.body, kind)

    async def _call(
        self, method: str, url: str, headers: dict[str, str], body: bytes
    ) -> HttpAnswer:
        try:
            target = self._http.target(url)
            request = whole(written(method, target, headers), body)
            return await self._http.call(target, request, ANSWER_BYTES_MAX)
        except (Fault, Unresolved, PostroadError) as error:
            name = error.name if isinstance(error, Fault) else type(error).__name__
            why = clean(str(error) or name.replace("_", " "), 200)
            raise ProviderAway(f"the provider does not answer: {why}; try again later") from None


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ProviderAway("the provider's answer cannot be read: is its address right?") from None
