"""Campaigns to webhooks: each recipient is an address, and tells a repetition by its id."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from postroad.model.credential import SECRET, CredentialField, CredentialSpec, OpenCredential
from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.errors import BadInput
from postroad.model.ids import key_text
from postroad.model.outcome import Kind, Outcome, ProviderAnswer, failed, unknown
from postroad.model.recipients import Measured, RecipientCheck, recipient_of
from postroad.ports.clock import Clock
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.answers import judge, outcome_of
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.requests import whole, written
from postroad.transports.webhook.resolving import Unresolved
from postroad.transports.webhook.signing import Signer

CALLS_MAX: Final = 3


def url(text: str) -> str:
    """Check the form of a webhook's URL; the guard checks its address when it is called."""
    plain = text.isascii() and text.isprintable() and " " not in text
    if not text.startswith(("https://", "http://")) or not plain:
        raise BadInput(f"{text[:60]!r} is no address of a webhook: write https://…")
    return text


URLS: Final = RecipientCheck(url, re.compile(r"https?://[!-~]{1,900}"))


class WebhookChannel:
    """Webhooks of campaigns, signed with the credential's secret."""

    name = "webhook"
    scheme = ""
    fields = (
        CredentialField(SECRET, "What requests are signed with, as whsec_….", True, sealed=True),
    )
    parts = ("text",)
    recipients = URLS
    policy = Policy()
    calls_max = CALLS_MAX

    def __init__(self, http: Callable[[], VettedHttp], clock: Clock) -> None:
        self._http = http
        self._clock = clock

    def check(self, _spec: CredentialSpec, secrets: Mapping[str, str], /) -> None:
        """Check that the secret can sign."""
        _ = _signer(secrets)  # a bad one is raised

    def encode(self, parts: Mapping[str, str]) -> bytes:
        """Return the text as it is."""
        return parts["text"].encode()

    def measure(self, body: bytes) -> Measured:
        """Every request counts once."""
        if not body.strip():
            raise BadInput("the text is empty")
        return Measured()

    async def connect(self, _lane: LaneKey, credential: OpenCredential, /) -> "RecipientsSession":
        """Open a session to all recipients."""
        return RecipientsSession(_signer(credential.secrets), self._http(), self._clock)


def _signer(secrets: Mapping[str, str]) -> Signer:
    secret = secrets.get(SECRET, "")
    return Signer([secret] if secret else [])


class RecipientsSession:
    """POSTs to whichever address a message names. A refusal fails only its recipient."""

    def __init__(self, signer: Signer, http: VettedHttp, clock: Clock) -> None:
        self._signer = signer
        self._http = http
        self._clock = clock

    async def send(self, _queue: Queue, message: Message, /) -> Outcome:
        """One call; the same id over all tries."""
        key, at_s = key_text(message.id), self._clock.now_ms() // 1000
        body = message.body
        kind = "application/json" if body[:1] in (b"{", b"[") else "text/plain; charset=utf-8"
        headers = {"content-type": kind, "webhook-id": key, "webhook-timestamp": str(at_s)}
        if self._signer:
            headers["webhook-signature"] = self._signer.sign(key, at_s, body)
        try:
            target = self._http.target(recipient_of(message))
            request = whole(written("POST", target, headers), body)
            answer = await self._http.call(target, request)
        except (BadInput, Unresolved) as error:
            return replace(failed(str(error)), provider=ProviderAnswer(sub_type="unreachable"))
        except Fault as fault:
            return _of_one(outcome_of(fault.name, str(fault), sent=fault.sent), "")
        outcome = judge(answer.status, answer.headers, (), self._clock.now_ms())
        return _of_one(outcome, str(answer.status))

    def overdue(self, seconds: float) -> Outcome:
        """The outcome is unknown: the request may have arrived."""
        return unknown(f"no answer within {seconds:g} s")

    async def close(self) -> None:
        """Let go of all connections."""
        await self._http.close()


def _of_one(outcome: Outcome, code: str) -> Outcome:
    """Make an outcome that says nothing about other recipients."""
    if outcome.kind == Kind.delivered:
        return replace(outcome, provider=ProviderAnswer("", code))
    if outcome.kind == Kind.unknown:
        return replace(outcome, provider=ProviderAnswer("", code, "no_answer"))
    provider = ProviderAnswer("", code, outcome.kind)
    return replace(failed(outcome.error, status=outcome.status), provider=provider)
