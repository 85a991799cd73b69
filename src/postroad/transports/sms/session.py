"""The session of an SMS or WhatsApp lane: it sends, checks and looks up at one provider."""

from base64 import b64encode
from contextlib import suppress
from typing import Final, TypeVar
from urllib.parse import quote, quote_plus, urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.model.credential import BadCredential, OpenCredential
from postroad.model.entities import Message, Queue
from postroad.model.errors import BadInput, BadUrl, Shortage
from postroad.model.ids import key_text
from postroad.model.outcome import (
    Outcome,
    ProviderAnswer,
    refused,
    rejected,
    unknown,
    unreachable,
)
from postroad.model.recipients import recipient_of
from postroad.model.suppression import Reason
from postroad.ports.channel import callback_url
from postroad.transports.sms.answers import SID_MAX, SmsAccepted, judge, no_answer, read_json
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.faults import Fault
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


class SmsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What is sent."""

    text: str
    despite: tuple[Reason, ...] = ()
    """Reasons on a suppression list that do not hold back this one."""


BODIES: Final = msgspec.json.Decoder(SmsBody)
WRITE: Final = 'write {"text": "Hello"}'


class SmsSession:
    """Sends POST requests to the provider at vetted addresses. `prefix` is written before numbers:
    `whatsapp:` there, nothing for an SMS."""

    def __init__(self, credential: OpenCredential, http: VettedHttp, prefix: str = "") -> None:
        spec = credential.spec
        self._spec = spec
        self._http = http
        self._prefix = prefix
        self._sender = prefix + spec.sender
        self._base = f"{spec.server.rstrip('/')}/2010-04-01/Accounts/{quote(spec.account, safe='')}"
        self._messages = f"{self._base}/Messages.json"
        self._from = f"From={quote_plus(self._sender)}&To={quote_plus(prefix)}"
        self._callback = quote_plus(callback_url(spec.callback, ""))
        secret = b64encode(f"{spec.account}:{credential.secret}".encode()).decode()
        self._headers = {"authorization": f"Basic {secret}"}
        self._begun = b""

    async def prepare(self, _queue: Queue, _message: Message, /) -> Outcome | None:
        """Connect to the provider, so that a call can start at its rate slot."""
        try:
            with suppress(Shortage):  # the call will find out, and be taken for one not made
                await self._http.prepare(self._http.target(self._messages))
        except (BadUrl, Unresolved, Fault) as error:
            return _not_called(error)
        return None

    async def send(self, _queue: Queue, message: Message, /) -> Outcome:
        """Make one call."""
        try:
            form = self._form(message)
            target = self._http.target(self._messages)
            if not self._begun:  # for each call it would take 160 µs of 240
                self._begun = written("POST", target, {**self._headers, "content-type": FORM})
            answer = await self._http.call(target, whole(self._begun, form.encode()))
        except (BadUrl, Unresolved, Fault) as error:
            return _not_called(error)
        except BadInput as error:
            return replace(rejected(str(error)), provider=ProviderAnswer(sub_type="bad_text"))
        return judge(answer.status, answer.headers, answer.body)

    def _form(self, message: Message) -> str:
        to, text = quote_plus(recipient_of(message)), quote_plus(text_of(message.body))
        form = f"{self._from}{to}&Body={text}"
        if self._callback:
            form += f"&StatusCallback={self._callback}{key_text(message.id)}"
        return form

    def overdue(self, seconds: float) -> Outcome:
        """The outcome is unknown: the request may have arrived."""
        return unknown(f"no answer within {seconds:g} s")

    async def check(self) -> str:
        """Whether the credential works."""
        status, body = await self._get(f"{self._base}.json", {})
        if status in (401, 403, 404):
            raise BadCredential(f"{self._spec.server} does not know this account or its token")
        if status != 200:
            raise BadCredential(f"{self._spec.server} answered {status}: try again later")
        account = _decode(ACCOUNTS, body, self._spec.server)
        if account.status != "active":
            raise BadCredential(f"this account is {account.status[:40]}: it cannot send")
        return account.friendly_name[:NAME_MAX]

    async def lookup(self, _queue: Queue, message: Message, /) -> str:
        """The provider's id of a message to that number with that text."""
        to, text = self._prefix + recipient_of(message), text_of(message.body)
        query = {"To": to, "From": self._sender, "PageSize": str(LOOKUP_ROWS)}
        status, body = await self._get(self._messages, query)
        if status != 200:
            raise BadCredential(f"{self._spec.server} answered {status} to a lookup")
        found = _decode(FOUND, body, self._spec.server).messages
        return next((one.sid[:SID_MAX] for one in found if one.body == text), "")

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
            raise BadCredential(f"{self._spec.server} cannot be reached: {why}") from None
        return answer.status, answer.body


def text_of(body: bytes) -> str:
    """Return the text of a message's body; BadInput says what is wrong with it."""
    try:
        text = BODIES.decode(body).text
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"the body is not a text message: {error}; {WRITE}") from None
    if not text.strip():
        raise BadInput(f"the text is empty: {WRITE}")
    return text


def _not_called(error: BadUrl | Unresolved | Fault) -> Outcome:
    """The outcome of a call that was not made, or that got no answer."""
    if isinstance(error, Fault):
        return no_answer(error.name, sent=error.sent)
    if isinstance(error, BadUrl):
        return refused(str(error), ProviderAnswer(sub_type="forbidden"))
    return replace(unreachable(str(error)), provider=ProviderAnswer(sub_type="dns"))


def _decode(decoder: "msgspec.json.Decoder[T]", body: bytes, server: str) -> T:
    said = read_json(decoder, body)
    if said is None:
        raise BadCredential(f"{server} does not answer as such a provider does")
    return said
