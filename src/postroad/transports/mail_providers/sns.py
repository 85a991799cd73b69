"""Messages of Amazon SNS: signed with a certificate of Amazon's, which is fetched from there."""

import asyncio
import re
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from msgspec import Struct

from postroad.model.errors import PostroadError, StoreUnavailable
from postroad.ports.clock import Clock

CERTIFICATE: Final = re.compile(r"/[^/]+/SimpleNotificationService-[0-9a-f]{32}\.pem")
AWAY: Final = "the certificate of SNS cannot be had now"
"""SNS repeats what is answered with 503, and not what is answered with 403."""
UNCONFIRMED: Final = "the link that confirms a subscription cannot be followed now"
HOST: Final = re.compile(r"sns\.[a-z]{2}(-[a-z]{1,12}){1,3}-[0-9]{1,2}\.amazonaws\.com(\.cn)?")
ARN: Final = re.compile(r"arn:aws[a-z-]{0,12}:sns:[a-z0-9-]{1,30}:[0-9]{12}:[A-Za-z0-9_.-]{1,256}")
HASHES: Final = {"1": SHA1, "2": SHA256}
NOTIFICATION: Final = "Notification"
CONFIRMATIONS: Final = ("SubscriptionConfirmation", "UnsubscribeConfirmation")
SIGNED: Final = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
SIGNED_TOO: Final = (
    "Message",
    "MessageId",
    "SubscribeURL",
    "Timestamp",
    "Token",
    "TopicArn",
    "Type",
)
URL_MAX: Final = 1_000
KEPT_MAX: Final = 8
KEPT_S: Final = 86_400.0
AGAIN_S: Final = 10.0
"""How long a certificate that could not be fetched is not asked for again."""
Get = Callable[[str], Awaitable[bytes]]
"""Gets a file from a vetted address over HTTPS. Raises OSError and what the guard raises."""


class SnsMessage(Struct, frozen=True, rename="pascal"):
    """A message as SNS posts it."""

    type: str
    message_id: str
    topic_arn: str
    message: str
    timestamp: str
    signature_version: str
    signature: str
    signing_cert_url: str = msgspec.field(name="SigningCertURL", default="")
    subject: str | None = None
    token: str | None = None
    subscribe_url: str | None = msgspec.field(name="SubscribeURL", default=None)


MESSAGE: Final = msgspec.json.Decoder(SnsMessage)


def from_amazon(url: str) -> bool:
    """Whether an address is one of SNS itself, over HTTPS, at its usual port."""
    if len(url) > URL_MAX or not url.isascii() or not url.isprintable():
        return False
    try:
        parts = urlsplit(url)
        plain = parts.port is None and parts.username is None and not parts.fragment
    except ValueError:
        return False
    return parts.scheme == "https" and plain and HOST.fullmatch(parts.netloc) is not None


def is_certificate(url: str) -> bool:
    """Whether an address is that of a certificate there: SNS answers other requests with texts that
    strangers chose."""
    return from_amazon(url) and CERTIFICATE.fullmatch(url.partition("/")[2]) is not None


class SnsTrust:
    """Checks signatures. Certificates are kept, and few are fetched, however many requests come."""

    def __init__(self, get: Get, clock: Clock) -> None:
        self._get = get
        self._clock = clock
        self._keys: OrderedDict[str, tuple[RSAPublicKey, float]] = OrderedDict()
        self._away: dict[str, float] = {}
        """When a certificate that could not be had is asked for again."""
        self._bad: dict[str, float] = {}
        """The same of what is no good certificate."""
        self._fetching = asyncio.Lock()

    async def believes(self, message: SnsMessage, topic: str) -> bool:
        """Whether a message is Amazon's, and of this topic: anybody may have one there."""
        made = HASHES.get(message.signature_version)
        url = message.signing_cert_url
        if made is None or message.topic_arn != topic or not is_certificate(url):
            return False
        key = await self._key(message.signing_cert_url)
        if key is None:
            return False
        try:
            signature = b64decode(message.signature, validate=True)
            key.verify(signature, signed_text(message), PKCS1v15(), made())
        except (ValueError, InvalidSignature):
            return False
        return True

    async def confirm(self, message: SnsMessage) -> bool:
        """Follow the link that confirms a subscription, which a signed message has."""
        url = message.subscribe_url or ""
        if not from_amazon(url):
            return False
        try:
            _ = await self._get(url)  # that it answers is all
        except (OSError, PostroadError):
            raise StoreUnavailable(UNCONFIRMED) from None
        return True

    async def _key(self, url: str) -> RSAPublicKey | None:
        known = self._known(url)
        if known is None:
            async with self._fetching:  # those that come meanwhile need the same one
                known = self._known(url) or await self._fetched(url)
        return known

    def _known(self, url: str) -> RSAPublicKey | None:
        key, until_s = self._keys.get(url, (None, 0.0))
        return key if self._clock.steady_s() < until_s else None

    async def _fetched(self, url: str) -> RSAPublicKey | None:
        now_s = self._clock.steady_s()
        if now_s < self._away.get(url, 0.0):
            raise StoreUnavailable(AWAY)
        if now_s < self._bad.get(url, 0.0):
            return None
        try:
            data = await self._get(url)
        except (OSError, PostroadError):
            self._away = _noted(self._away, url, now_s + AGAIN_S)
            raise StoreUnavailable(AWAY) from None
        self._bad = _noted(self._bad, url, now_s + AGAIN_S)
        from cryptography.x509 import load_pem_x509_certificate  # loads much

        try:
            found = load_pem_x509_certificate(data)
        except ValueError:
            return None
        made, now_ms = found.public_key(), self._clock.now_ms()
        begins, ends = found.not_valid_before_utc, found.not_valid_after_utc
        valid = begins.timestamp() * 1000 <= now_ms <= ends.timestamp() * 1000
        if not isinstance(made, RSAPublicKey) or not valid:
            return None
        self._keys[url] = (made, now_s + KEPT_S)
        while len(self._keys) > KEPT_MAX:
            self._keys.popitem(last=False)
        return made


def _noted(times: dict[str, float], url: str, until_s: float) -> dict[str, float]:
    """The newest hundred."""
    return {url: until_s} | dict(list(times.items())[:99])


def signed_text(message: SnsMessage) -> bytes:
    """What the signature of a message is over: some of its fields with their names, in order."""
    values = {
        "Message": message.message,
        "MessageId": message.message_id,
        "Subject": message.subject,
        "SubscribeURL": message.subscribe_url,
        "Timestamp": message.timestamp,
        "Token": message.token,
        "TopicArn": message.topic_arn,
        "Type": message.type,
    }
    names = SIGNED if message.type == NOTIFICATION else SIGNED_TOO
    told = ((name, values[name]) for name in names)
    return "".join(f"{name}\n{value}\n" for name, value in told if value is not None).encode()
