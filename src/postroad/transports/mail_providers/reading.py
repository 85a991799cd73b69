"""Callbacks of mail providers: which provider a credential names, and whether a call is from it."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from postroad.model.credential import CredentialField, OpenCredential
from postroad.model.errors import BadInput
from postroad.model.mail_report import MailReport
from postroad.ports.channel import OnceOnly, ProviderCall
from postroad.ports.clock import Clock
from postroad.transports.mail_providers.mailgun import mailgun_reports, read_mailgun
from postroad.transports.mail_providers.postmark import MARK_HEADER, knows_secret, postmark_reports
from postroad.transports.mail_providers.ses import ses_reports
from postroad.transports.mail_providers.sns import (
    ARN,
    CONFIRMATIONS,
    MESSAGE,
    NOTIFICATION,
    Get,
    SnsTrust,
)

CALLBACKS: Final = "callbacks"
KEY: Final = "callback_key"
PROVIDERS: Final = ("mailgun", "postmark", "ses")
KEY_MIN: Final = 16
TOKEN_MAX: Final = 200
FIELDS: Final = (
    CredentialField(CALLBACKS, "whose callbacks are taken: mailgun, postmark or ses"),
    CredentialField(
        KEY,
        "Mailgun's signing key; USER:PASSWORD or the secret of Postmark's address; the ARN of the "
        "SNS topic",
        sealed=True,
    ),
)


def check_provider(options: Mapping[str, str], secrets: Mapping[str, str]) -> None:
    """Check the fields above; BadInput says what is wrong."""
    provider, key = options.get(CALLBACKS, ""), secrets.get(KEY, "")
    if bool(provider) != bool(key):
        raise BadInput(f"{CALLBACKS} and {KEY} go together: give both, or none")
    if provider and provider not in PROVIDERS:
        raise BadInput(f"{CALLBACKS} {provider[:40]!r}: there are {', '.join(PROVIDERS)}")
    if provider == "ses" and not ARN.fullmatch(key):
        raise BadInput(f"{KEY}: give the ARN of the topic, as arn:aws:sns:REGION:ACCOUNT:NAME")
    if provider and len(key) < KEY_MIN:
        raise BadInput(f"{KEY}: give at least {KEY_MIN} characters")


def mark_header(options: Mapping[str, str]) -> str:
    """The header in which a provider wants the reference of a mail that it is to give back; empty
    for those that give back Message-ID."""
    return MARK_HEADER if options.get(CALLBACKS) == "postmark" else ""


class ProviderReports:
    """Reads callbacks."""

    def __init__(self, get: Get, clock: Clock) -> None:
        self._clock = clock
        self._sns = SnsTrust(get, clock)

    async def read(
        self, call: ProviderCall, credential: OpenCredential, once: OnceOnly
    ) -> Sequence[MailReport] | None:
        """What a call reports; None if it is not from the credential's provider, or unreadable."""
        provider, key = credential.spec.options.get(CALLBACKS, ""), credential.secrets.get(KEY, "")
        if not key:
            return None
        try:
            match provider:
                case "mailgun":
                    return await self._mailgun(call.body, key, once)
                case "postmark":
                    knows = knows_secret(call.key, call.headers, key)
                    return postmark_reports(call.body) if knows else None
                case "ses":
                    return await self._ses(call.body, key)
                case _:
                    return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    async def _mailgun(self, body: bytes, key: str, once: OnceOnly) -> Sequence[MailReport] | None:
        found = read_mailgun(body, key, self._clock.now_ms() / 1000)
        if found is None:
            return None
        token = found.signature.token[:TOKEN_MAX]
        # The same again, whose answer was lost, is taken; another body under the token is forged.
        fresh = await once(f"mailgun {token}", sha256(body).hexdigest())
        return mailgun_reports(found.event) if fresh else None

    async def _ses(self, body: bytes, topic: str) -> Sequence[MailReport] | None:
        message = MESSAGE.decode(body)
        if message.type not in (NOTIFICATION, *CONFIRMATIONS):
            return None
        if not await self._sns.believes(message, topic):
            return None
        if message.type == NOTIFICATION:
            return ses_reports(message.message)
        if message.type == CONFIRMATIONS[0]:
            return () if await self._sns.confirm(message) else None
        return ()
