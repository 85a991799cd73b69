"""One credential's way to its provider: send, check, look up."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import DetailedPyreqwestError, PyreqwestError

from postroad.ports.channel import Answer, BadCredential, Parcel
from postroad.transports.sms.answers import Taken, fault, judge

TIMEOUT_S: Final = 15.0
CONNECT_S: Final = 5.0
IDLE_S: Final = 4.0
"""Many servers close an idle connection after 5 s; sent at that moment a request is in doubt."""
ANSWER_BYTES_MAX: Final = 64 << 10
LOOKUP_ROWS: Final = 50

Vet = Callable[[str], Awaitable[None]]
"""Whether an address may be called now; a BadInput says why not."""


class Account(Struct, frozen=True):
    """What a provider says about an account."""

    friendly_name: str = ""
    status: str = "active"


class Found(Struct, frozen=True):
    """Messages that a provider has."""

    messages: tuple[Taken, ...] = ()


ACCOUNTS: Final = msgspec.json.Decoder(Account)
FOUND: Final = msgspec.json.Decoder(Found)


class Login(Struct, frozen=True):
    """Who sends, and where."""

    server: str
    account: str
    token: str
    sender: str


class SmsChannel:
    """POSTs to the provider; one client for all, no redirects, no proxies."""

    def __init__(self, login: Login, vet: Vet) -> None:
        self._login = login
        self._vet = vet
        account = quote(login.account, safe="")
        self._base = f"{login.server.rstrip('/')}/2010-04-01/Accounts/{account}"
        self._client: asyncio.Task[Client] | None = None

    async def ready(self) -> None:
        """The client is built, and its address may be called."""
        await self._vet(self._base)
        await self._ready()

    async def send(self, parcel: Parcel) -> Answer:
        """One call."""
        form = {"To": parcel.recipient, "From": self._login.sender, "Body": parcel.body}
        if parcel.callback:
            form["StatusCallback"] = parcel.callback
        client = await self._ready()
        asking = (
            client.post(f"{self._base}/Messages.json")
            .basic_auth(self._login.account, self._login.token)
            .form(form)
            .build()
        )
        try:
            answer = await asking.send()
        except DetailedPyreqwestError as error:
            return fault([cause["message"] for cause in error.details["causes"] or ()])
        except (PyreqwestError, TimeoutError) as error:
            return fault([f"{type(error).__name__}: {error}"])
        status, headers = answer.status, answer.headers
        try:
            body = bytes(await answer.bytes())[:ANSWER_BYTES_MAX]
        except (PyreqwestError, TimeoutError):
            body = b""  # what the status says stands
        return judge(status, headers, body)

    async def check(self) -> str:
        """Whether the credential works."""
        status, body = await self._get(f"{self._base}.json", {})
        if status in (401, 403, 404):
            raise BadCredential(f"{self._login.server} does not know this account or its token")
        if status != 200:
            raise BadCredential(f"{self._login.server} answered {status}: try again later")
        account = ACCOUNTS.decode(body)
        if account.status != "active":
            raise BadCredential(f"this account is {account.status}: it cannot send")
        return account.friendly_name

    async def lookup(self, parcel: Parcel) -> str:
        """The provider's id of a message to that number with that text."""
        query = {"To": parcel.recipient, "From": self._login.sender, "PageSize": str(LOOKUP_ROWS)}
        status, body = await self._get(f"{self._base}/Messages.json", query)
        if status != 200:
            raise BadCredential(f"{self._login.server} answered {status} to a lookup")
        found = FOUND.decode(body).messages
        return next((one.sid for one in found if one.body == parcel.body), "")

    async def close(self) -> None:
        """Let go of all connections."""
        building, self._client = self._client, None
        if building is not None:
            await (await building).close()

    async def _get(self, url: str, query: dict[str, str]) -> tuple[int, bytes]:
        await self._vet(self._base)
        client = await self._ready()
        login = self._login
        asking = client.get(url).basic_auth(login.account, login.token).query(query).build()
        try:
            answer = await asking.send()
            return answer.status, bytes(await answer.bytes())[: 1 << 20]
        except (PyreqwestError, TimeoutError) as error:
            raise BadCredential(f"{login.server} cannot be reached: {error}") from None

    async def _ready(self) -> Client:
        """Built off the loop: it takes 4 to 7 ms."""
        if self._client is None:
            self._client = asyncio.create_task(asyncio.to_thread(_build))
        return await asyncio.shield(self._client)


def _build() -> Client:
    return (
        ClientBuilder()
        .no_proxy()
        .follow_redirects(enable=False)
        .gzip(enable=False)
        .brotli(enable=False)
        .zstd(enable=False)
        .deflate(enable=False)
        .http1_only()
        .user_agent("postroad")
        .connect_timeout(timedelta(seconds=CONNECT_S))
        .timeout(timedelta(seconds=TIMEOUT_S))
        .pool_idle_timeout(timedelta(seconds=IDLE_S))
        .build()
    )
