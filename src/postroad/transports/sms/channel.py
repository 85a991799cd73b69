"""SMS and WhatsApp: their credentials, numbers and texts, and what their providers report."""

import hashlib
import hmac
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from postroad.model.campaign import STATUSES
from postroad.model.credential import SECRET, CredentialField, CredentialSpec, OpenCredential
from postroad.model.entities import LaneKey, Policy
from postroad.model.errors import BadInput
from postroad.model.foreign import NAME_CHARACTERS_MAX, clean
from postroad.model.phone_number import normal_phone
from postroad.model.recipients import Measured, RecipientCheck
from postroad.model.sms_segments import count_segments
from postroad.ports.channel import ProviderCall, ProviderReport
from postroad.transports.sms.session import SmsSession, text_of
from postroad.transports.vetted_http import VettedHttp

SIGNATURE: Final = "x-twilio-signature"
SIGNATURE_LETTERS: Final = 28
CALLBACK_PAIRS_MAX: Final = 200
TEXT_MAX: Final = 4_096
"""Characters of a WhatsApp message."""
FIELDS: Final = (
    CredentialField("server", "The provider's address, as https://api.twilio.com.", needed=True),
    CredentialField("account", "The id of the account there.", needed=True),
    CredentialField("sender", "The number that messages come from.", needed=True),
    # A stranger who guesses it can sign callbacks. Twilio's have 32.
    CredentialField(SECRET, "The account's token.", needed=True, sealed=True, characters_min=16),
)


PHONES: Final = RecipientCheck(normal_phone, re.compile(r"\+[0-9]{5,15}"))


class SmsChannel:
    """Text messages to telephone numbers."""

    name = scheme = "sms"
    fields = FIELDS
    parts = ("text",)
    recipients = PHONES
    policy = Policy(at_most_once=True)
    calls_max = 1
    prefix = ""

    def __init__(self, http: Callable[[], VettedHttp]) -> None:
        self._http = http

    def check(self, spec: CredentialSpec, secrets: Mapping[str, str]) -> None:
        """Accept a credential whose fields are sound: nothing else is needed."""

    def encode(self, parts: Mapping[str, str]) -> bytes:
        """Return the body of a text."""
        return msgspec.json.encode({"text": parts["text"]})

    def measure(self, body: bytes) -> Measured:
        """Count the segments."""
        counted = count_segments(text_of(body))
        return Measured(counted.count, counted.encoding)

    async def connect(self, _lane: LaneKey, credential: OpenCredential, /) -> SmsSession:
        """Open a session; connections are made when they are needed."""
        return SmsSession(credential, self._http(), self.prefix)

    def reads(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has a signature of the right length."""
        return len(headers.get(SIGNATURE, "")) == SIGNATURE_LETTERS

    def report(self, call: ProviderCall, credential: OpenCredential) -> ProviderReport | None:
        """Read a status callback; None when it is not signed with the credential's token."""
        form = _form(call.body)
        if not signed(credential.secret, call.url, form, call.headers.get(SIGNATURE, "")):
            return None
        status = form.get("MessageStatus", "")
        sid = clean(form.get("MessageSid", ""), NAME_CHARACTERS_MAX)
        if status not in STATUSES or not sid:
            return None
        return ProviderReport(sid, status, clean(form.get("ErrorCode", ""), NAME_CHARACTERS_MAX))


class WhatsAppChannel(SmsChannel):
    """WhatsApp messages through the same form of API: numbers have a prefix, and a text has no
    segments."""

    name = scheme = "whatsapp"
    prefix = "whatsapp:"

    def measure(self, body: bytes) -> Measured:
        """Every text counts once."""
        if len(text_of(body)) > TEXT_MAX:
            raise BadInput(f"the text has over {TEXT_MAX} characters: write less")
        return Measured()


def _form(body: bytes) -> dict[str, str]:
    """The signature is one over what the form says, so a stranger's is read too: a short one."""
    try:
        pairs = parse_qsl(
            body.decode(errors="replace"), keep_blank_values=True, max_num_fields=CALLBACK_PAIRS_MAX
        )
    except ValueError:
        raise BadInput(f"a callback has at most {CALLBACK_PAIRS_MAX} fields") from None
    return dict(pairs)


def sign(token: str, url: str, form: Mapping[str, str]) -> str:
    """The signature of a callback: HMAC-SHA1 over the address and the sorted form."""
    text = url + "".join(name + form[name] for name in sorted(form))
    return b64encode(hmac.new(token.encode(), text.encode(), hashlib.sha1).digest()).decode()


def signed(token: str, url: str, form: Mapping[str, str], signature: str) -> bool:
    """Whether the signature is the provider's: over the address with its port, or without, as
    Twilio does by turns (decision 128)."""
    given, parts = signature.encode(), urlsplit(url)
    name = parts.netloc.rpartition("@")[2]
    host = name.rpartition(":")[0] if name.rpartition(":")[2].isdecimal() else name
    port = parts.port or (443 if parts.scheme == "https" else 80)
    others = (host, f"{host}:{port}")
    urls = dict.fromkeys((url, *(parts._replace(netloc=one).geturl() for one in others)))
    found = [hmac.compare_digest(sign(token, one, form).encode(), given) for one in urls]
    return any(found)
