"""Tokens of OAuth 2 servers for webhooks. They are kept in this process's memory alone, asked for
before they end, and by one request for all who wait."""

import asyncio
import re
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Struct

from postroad.model.access import OAuthClient
from postroad.model.errors import BadInput, BadUrl, PostroadError
from postroad.model.foreign import clean
from postroad.ports.clock import Clock
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.answers import WORDS
from postroad.transports.webhook.connections import HttpAnswer
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.requests import whole, written
from postroad.transports.webhook.resolving import Unresolved
from postroad.transports.webhook.target import Target

TOKENS_MAX: Final = 4_096
TENANTS_MAX: Final = 1_024
ANSWER_BYTES_MAX: Final = 32 << 10
USUAL_S: Final = 300.0
"""How long a token is used whose server does not say when it ends."""
SHORTEST_S: Final = 5.0
LONGEST_S: Final = 86_400.0
EARLY_S: Final = 60.0
"""A token is asked for again so long before its end; of a short one, a fifth of its time."""
WAIT_S: Final = 4.0
"""A try waits no longer for a token; the request for it goes on."""
FAILED_S: Final = 5.0
"""A failure is the answer for all who ask within this time."""
YOUNG_S: Final = 30.0
"""A younger token that a receiver refuses is not asked for again: it is not the token."""
TOKEN: Final = re.compile(r"[!-~]{1,8000}")
REFUSALS: Final = (400, 401, 403)
SAID_CHARACTERS: Final = 200


class NoToken(PostroadError):
    """There is no token for a request. `refused`: the token server refuses the client."""

    def __init__(self, said: str, *, refused: bool = False) -> None:
        super().__init__(said)
        self.refused = refused


class TokenAnswer(Struct, frozen=True):
    """What a token server answers, right or wrong."""

    access_token: str = ""
    token_type: str = "bearer"  # noqa: S105 - a word of the protocol
    expires_in: float | str | None = None
    error: str = ""
    error_description: str = ""


ANSWER: Final = msgspec.json.Decoder(TokenAnswer)


class HeldToken(Struct, frozen=True):
    """A token, or why there is none; in the clock's steady time."""

    text: str
    made_s: float
    until_s: float
    error: NoToken | None = None


Asked = tuple[str, OAuthClient]


class TokenCache:
    """The tokens in use, by tenant and client."""

    def __init__(self, http: Callable[[str], VettedHttp], clock: Clock) -> None:
        self._make_http = http
        self._https: OrderedDict[str, VettedHttp] = OrderedDict()
        self._clock = clock
        self._tokens: OrderedDict[Asked, HeldToken] = OrderedDict()
        self._asking: dict[Asked, asyncio.Task[HeldToken]] = {}

    async def get(self, tenant: str, client: OAuthClient) -> str:
        """Return a token for a client; raises NoToken."""
        asked = tenant, client
        token = self._tokens.get(asked)
        if token is None or self._clock.steady_s() >= token.until_s:
            try:
                async with asyncio.timeout(WAIT_S):
                    token = await self._ask(asked)
            except TimeoutError:
                raise _no_token(client, Fault("timeout", sent=True)) from None
        if token.error is not None:
            raise token.error
        return token.text

    def forget(self, tenant: str, client: OAuthClient, text: str) -> bool:
        """A receiver refused this token. Answers whether another one may help."""
        asked = tenant, client
        token = self._tokens.get(asked)
        if token is None or token.text != text:
            return True  # there is a newer one
        if self._clock.steady_s() - token.made_s < YOUNG_S:
            return False
        del self._tokens[asked]
        return True

    async def check(self, tenant: str, client: OAuthClient) -> None:
        """Ask for a token now. Raises BadInput when the token server refuses the client; one that
        cannot be reached may be there later."""
        http = self._http(tenant)
        with suppress(Unresolved):
            _ = await http.to(http.target(client.token_url))  # whether it may be called
        _ = self._tokens.pop((tenant, client), None)  # a failure of a moment ago
        try:
            _ = await self.get(tenant, client)  # whether there is one
        except NoToken as error:
            if error.refused:
                raise BadInput(f"auth: {error}") from None

    async def close(self) -> None:
        """End requests for tokens, and close all connections."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        _ = await asyncio.gather(*tasks, return_exceptions=True)  # they have ended
        for http in self._https.values():
            await http.close()

    def _http(self, tenant: str) -> VettedHttp:
        """A tenant's client: its names do not wait for those of another."""
        http = self._https.get(tenant)
        if http is None:
            http = self._https[tenant] = self._make_http(tenant)
            if len(self._https) > TENANTS_MAX:
                self._https.popitem(last=False)  # its idle connections end by themselves
        return http

    def _ask(self, asked: Asked) -> "Awaitable[HeldToken]":
        """Ask for a token. Those who ask meanwhile get the same answer."""
        task = self._asking.get(asked)
        if task is None:
            task = self._asking[asked] = asyncio.create_task(self._fetch(asked))
            task.add_done_callback(lambda _: self._asking.pop(asked, None))
        return asyncio.shield(task)

    async def _fetch(self, asked: Asked) -> HeldToken:
        client = asked[1]
        try:
            http = self._http(asked[0])
            target = http.target(client.token_url)
            answer = await http.call(target, _request(client, target), ANSWER_BYTES_MAX)
            token = self._read(answer, client)
        except (NoToken, Fault, Unresolved, BadUrl) as error:
            now_s = self._clock.steady_s()
            token = HeldToken("", now_s, now_s + FAILED_S, _no_token(client, error))
        self._tokens[asked] = token
        if len(self._tokens) > TOKENS_MAX:
            self._tokens.popitem(last=False)
        return token

    def _read(self, answer: HttpAnswer, client: OAuthClient) -> HeldToken:
        said = read_answer(answer.status, answer.body, client)
        now_s = self._clock.steady_s()
        lasts_s = min(max(SHORTEST_S, _seconds(said.expires_in)), LONGEST_S)
        return HeldToken(said.access_token, now_s, now_s + lasts_s - min(EARLY_S, lasts_s / 5))


def _request(client: OAuthClient, target: Target) -> bytes:
    """Write the request for a token (RFC 6749, 4.4)."""
    fields = {"grant_type": "client_credentials"}
    fields |= {name: text for name in ("scope", "audience") if (text := getattr(client, name))}
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    if client.in_body:
        fields |= {"client_id": client.client_id, "client_secret": client.client_secret}
    else:
        headers["authorization"] = f"Basic {_pair(client)}"
    return whole(written("POST", target, headers), urlencode(fields).encode())


def _pair(client: OAuthClient) -> str:
    """Return id and secret as the header has them: form-encoded first (RFC 6749, 2.3.1)."""
    pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
    return b64encode(pair.encode()).decode()


def read_answer(status: int, body: bytes, client: OAuthClient) -> TokenAnswer:
    """Read the answer of a token server; raises NoToken with what is wrong, without the secret."""
    try:
        said = ANSWER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        said = TokenAnswer()
    if not 200 <= status < 300:
        words = " ".join(filter(None, (said.error, said.error_description)))
        for secret in (client.client_secret, quote_plus(client.client_secret), _pair(client)):
            words = words.replace(secret, "…")
        words = clean(words, SAID_CHARACTERS)
        told = f"it answers {status}{': ' if words else ''}{words}"
        raise NoToken(told, refused=status in REFUSALS)
    if not TOKEN.fullmatch(said.access_token):
        raise NoToken("its answer has no access_token that can be sent")
    if said.token_type.lower() != "bearer":
        raise NoToken("its tokens are not of the type bearer")
    return said


def _seconds(told: float | str | None) -> float:
    try:
        return USUAL_S if told is None else float(told if not isinstance(told, str) else told[:20])
    except (ValueError, OverflowError):
        return USUAL_S


def _no_token(client: OAuthClient, error: Exception) -> NoToken:
    refused = isinstance(error, NoToken) and error.refused
    why = str(error)
    if isinstance(error, Fault):
        why = WORDS.get(error.name) or f"{error.name}: {error}"
    host = client.token_url.partition("://")[2].partition("/")[0][:100]
    if refused:
        said = f"the token server {host} refuses the client: {why}; set its auth again"
        return NoToken(said, refused=True)
    return NoToken(f"no token from {host}: {why}")
