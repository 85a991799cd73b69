"""The channel to an SMS provider for one credential: it sends, checks and looks up."""

from base64 import b64encode
from typing import Final, TypeVar
from urllib.parse import quote, quote_plus, urlencode

import msgspec
from msgspec import Struct

from postroad.model.campaign import RowState
from postroad.model.errors import BadUrl, Shortage
from postroad.model.outcome import Kind
from postroad.ports.channel import BadCredential, ChannelAnswer, ChannelMessage
from postroad.transports.sms.answers import SID_MAX, SmsAccepted, judge, no_answer, read_json
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.connections import Fault
from postroad.transports.webhook.requests import whole, written
from postroad.transports.webhook.resolving import Unresolved

FORM: Final = "application/x-www-form-urlencoded"
LOOKUP_BYTES_MAX: Final = 1 << 20
LOOKUP_ROWS: Final = 50
NAME_MAX: Final = 200
T = TypeVar("T")


class Account(Struct, frozen=True):
    """What a provider says about an account."""

    friendly_name: str = ""
    status: str = "active"


class Found(Struct, frozen=True):
    """Messages that a provider has."""

    messages: tuple[SmsAccepted, ...] = ()


ACCOUNTS: Final = msgspec.json.Decoder(Account)
FOUND: Final = msgspec.json.Decoder(Found)


class Login(Struct, frozen=True):
    """Who sends, and where."""

    server: str
    account: str
    token: str
    sender: str


class SmsChannel:
    """Sends POST requests to the provider at vetted addresses."""

    def __init__(self, login: Login, http: VettedHttp) -> None:
        self._login = login
        self._http = http
        account = quote(login.account, safe="")
        self._base = f"{login.server.rstrip('/')}/2010-04-01/Accounts/{account}"
        self._messages = f"{self._base}/Messages.json"
        self._from = f"From={quote_plus(login.sender)}"
        secret = b64encode(f"{login.account}:{login.token}".encode()).decode()
        self._headers = {"authorization": f"Basic {secret}"}
        self._begun = b""

    async def ready(self) -> None:
        """The provider's address may be called."""
        try:
            _ = await self._http.to(self._http.target(self._base))  # whether it may be called
        except (Unresolved, Shortage):
            return  # each call will find out, and be taken for one that was not made

    async def send(self, parcel: ChannelMessage) -> ChannelAnswer:
        """One call."""
        form = f"{self._from}&To={quote_plus(parcel.recipient)}&Body={quote_plus(parcel.body)}"
        if parcel.callback:
            form += f"&StatusCallback={quote_plus(parcel.callback)}"
        try:
            target = self._http.target(self._messages)
            if (
                not self._begun
            ):  # written once: read and written for each call it took 160 µs of 240
                self._begun = written("POST", target, {**self._headers, "content-type": FORM})
            answer = await self._http.call(target, whole(self._begun, form.encode()))
        except BadUrl as error:
            return ChannelAnswer(
                RowState.unsent, Kind.rejected, sub_type="forbidden", error=str(error)
            )
        except Unresolved as error:
            return ChannelAnswer(
                RowState.unsent, Kind.unreachable, sub_type="dns", error=str(error)
            )
        except Shortage as error:
            return ChannelAnswer(RowState.unsent, Kind.later, sub_type="shortage", error=str(error))
        except Fault as fault:
            return no_answer(fault.name, sent=fault.sent)
        return judge(answer.status, answer.headers, answer.body)

    async def check(self) -> str:
        """Whether the credential works."""
        status, body = await self._get(f"{self._base}.json", {})
        if status in (401, 403, 404):
            raise BadCredential(f"{self._login.server} does not know this account or its token")
        if status != 200:
            raise BadCredential(f"{self._login.server} answered {status}: try again later")
        account = _decode(ACCOUNTS, body, self._login.server)
        if account.status != "active":
            raise BadCredential(f"this account is {account.status[:40]}: it cannot send")
        return account.friendly_name[:NAME_MAX]

    async def lookup(self, parcel: ChannelMessage) -> str:
        """The provider's id of a message to that number with that text."""
        query = {"To": parcel.recipient, "From": self._login.sender, "PageSize": str(LOOKUP_ROWS)}
        status, body = await self._get(f"{self._base}/Messages.json", query)
        if status != 200:
            raise BadCredential(f"{self._login.server} answered {status} to a lookup")
        found = _decode(FOUND, body, self._login.server).messages
        return next((one.sid[:SID_MAX] for one in found if one.body == parcel.body), "")

    async def close(self) -> None:
        """Let go of all connections."""
        await self._http.close()

    async def _get(self, url: str, query: dict[str, str]) -> tuple[int, bytes]:
        try:
            target = self._http.target(f"{url}?{urlencode(query)}" if query else url)
            request = whole(written("GET", target, self._headers), b"")
            answer = await self._http.call(target, request, LOOKUP_BYTES_MAX)
        except (Fault, Unresolved) as error:
            why = str(error) or getattr(error, "name", "")
            raise BadCredential(f"{self._login.server} cannot be reached: {why}") from None
        return answer.status, answer.body


def _decode(decoder: "msgspec.json.Decoder[T]", body: bytes, server: str) -> T:
    said = read_json(decoder, body)
    if said is None:
        raise BadCredential(f"{server} does not answer as such a provider does")
    return said
