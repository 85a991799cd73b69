"""Campaigns to webhooks: each recipient is an address, and tells a repetition by its id."""

from postroad.model.campaign import RowState
from postroad.model.errors import BadInput, Shortage
from postroad.model.outcome import Kind, Outcome
from postroad.ports.channel import BadCredential, ChannelAnswer, ChannelMessage
from postroad.ports.clock import Clock
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.answers import judge, outcome_of
from postroad.transports.webhook.connections import Fault
from postroad.transports.webhook.requests import whole, written
from postroad.transports.webhook.resolving import Unresolved
from postroad.transports.webhook.signing import Signer


class WebhookChannel:
    """POSTs, signed with the credential's secret. One recipient's trouble is its own: nobody else
    waits for it."""

    def __init__(self, secret: str, http: VettedHttp, clock: Clock) -> None:
        self._signer = Signer([secret] if secret else [])
        self._http = http
        self._clock = clock

    async def ready(self) -> None:
        """Each recipient has its own way."""

    async def send(self, parcel: ChannelMessage) -> ChannelAnswer:
        """One call; the same id over all tries."""
        body, at_s = parcel.body.encode(), self._clock.now_ms() // 1000
        kind = "application/json" if body[:1] in (b"{", b"[") else "text/plain; charset=utf-8"
        headers = {"content-type": kind, "webhook-id": parcel.key, "webhook-timestamp": str(at_s)}
        if self._signer:
            headers["webhook-signature"] = self._signer.sign(parcel.key, at_s, body)
        try:
            target = self._http.target(parcel.recipient)
            request = whole(written("POST", target, headers), body)
            answer = await self._http.call(target, request)
        except (BadInput, Unresolved) as error:
            return ChannelAnswer(
                RowState.failed, Kind.failed, sub_type="unreachable", error=str(error)
            )
        except Shortage as error:
            return ChannelAnswer(RowState.unsent, Kind.later, sub_type="shortage", error=str(error))
        except Fault as fault:
            return _answer(outcome_of(fault.name, str(fault), sent=fault.sent), "")
        outcome = judge(answer.status, answer.headers, (), self._clock.now_ms())
        return _answer(outcome, str(answer.status))

    async def check(self) -> str:
        """There is no account to ask about."""
        return "webhooks"

    async def lookup(self, parcel: ChannelMessage) -> str:
        """Recipients of webhooks cannot be asked."""
        raise BadCredential(
            f"{parcel.recipient} cannot be asked what it has: settle it, and it is sent again "
            "under the same id"
        )

    async def close(self) -> None:
        """Let go of all connections."""
        await self._http.close()


def _answer(outcome: Outcome, code: str) -> ChannelAnswer:
    if outcome.kind == Kind.delivered:
        return ChannelAnswer(RowState.sent, Kind.delivered, code=code)
    if outcome.kind == Kind.unknown:
        return ChannelAnswer(RowState.uncertain, Kind.unknown, "", code, "no_answer", outcome.error)
    return ChannelAnswer(RowState.failed, Kind.failed, "", code, outcome.kind, outcome.error)
