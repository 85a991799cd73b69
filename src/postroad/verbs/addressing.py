"""Addresses of recipients that messages name: `sms:+6591234567`, `mailto:ann@example.com`. Their
messages go to the queue of a credential."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from postroad.engine.drafting import Send
from postroad.model.credential import BadCredential
from postroad.model.endpoint import OPERATOR
from postroad.model.errors import BadInput
from postroad.model.hours import ZONE
from postroad.model.recipients import RESERVED, SITE_MARK, TO, read_queue_name
from postroad.model.reserved_headers import check_reserved
from postroad.model.texts import checked
from postroad.transports.channels import ChannelTransport
from postroad.verbs.send_again import AGAIN_OF, SendOnceMore

CARRIED: Final = frozenset((TO, AGAIN_OF, ZONE, "traceparent", "tracestate"))
"""Headers of messages to named recipients."""


class Addressing:
    """Finds the queues of messages that are sent to addresses."""

    def __init__(self, channels: Collection[ChannelTransport]) -> None:
        self._schemes = {one.channel.scheme: one for one in channels if one.channel.scheme}
        self._channels = {one.name: one for one in self._schemes.values()}
        self._begins = {OPERATOR} | RESERVED | self._schemes.keys() | self._channels.keys()

    @property
    def transports(self) -> Collection[ChannelTransport]:
        """The transports of all channels that addresses name."""
        return self._channels.values()

    def bare(self, address: str) -> str:
        """An address without its scheme; anything else as it is."""
        scheme, mark, recipient = address.partition(":")
        return recipient if mark and scheme.lower() in self._schemes else address

    def transport(self, queue: str) -> ChannelTransport | None:
        """The transport of a channel's queue or address; None for the name of a handler."""
        begin, mark, _ = queue.partition(":")
        if mark and begin.lower() in self._schemes:  # `MAILTO:` is as good as `mailto:` (RFC 3986)
            return self._schemes[begin.lower()]
        name = begin.partition(SITE_MARK)[0]
        if not mark or name not in self._begins:
            return None
        found = self._schemes.get(begin) or self._channels.get(name)
        if found is None:
            raise BadInput(f"{begin}: is not understood: no channel for it is set up")
        return found

    async def routed(self, sends: Sequence[Send]) -> Sequence[Send]:
        """The sends, those to addresses with their queues, and with the recipient in a header."""
        # Few names among many sends: taking each name apart for every message took 0.4 µs.
        if any(map(self._needs_route, {(send.queue, send.credential) for send in sends})):
            return [await self._routed(send) for send in sends]
        return sends

    def _needs_route(self, given: tuple[str, str]) -> bool:
        queue, credential = given
        begin = queue.partition(":")[0].partition(SITE_MARK)[0].lower()
        return bool(credential) or begin in self._begins

    async def _routed(self, send: Send) -> Send:
        if send.queue == OPERATOR:
            raise BadInput(f"{OPERATOR!r} gets operational events: the road alone sends to it")
        transport = self.transport(send.queue)
        if transport is None:
            _no_credential(send)
            return send
        _ = checked("queue", send.queue), checked("tenant", send.tenant)  # short enough
        headers = _headers(send, transport.name)
        credential = send.credential or transport.name
        begin, _, recipient = send.queue.partition(":")
        if TO in headers:  # it is sent again, to the queue of its credential
            _, credential, _ = read_queue_name(send.queue)
            recipient = headers[TO]
        elif begin.lower() not in self._schemes:
            raise BadInput(
                f"{send.queue!r} is a queue of messages that name their recipients: send to an "
                f"address, as {transport.channel.scheme}:…"
            )
        try:
            queue, to = await transport.route(recipient, send.tenant, credential)
        except BadCredential as error:
            if send.credential or TO in headers:
                raise
            raise BadCredential(f"no credential is named, and {error}: give credential=…") from None
        return replace(send, queue=queue, headers={**headers, TO: to}, credential="")


def _headers(send: Send, channel: str) -> Mapping[str, str]:
    headers = send.headers or {}
    for name in headers:
        if name.lower() not in CARRIED:
            raise BadInput(f"headers: {channel} has no header {name!r}: what is sent is the body")
    if not isinstance(send, SendOnceMore):  # one that is drafted again has its recipient there
        check_reserved(name for name in headers if name != TO)
    return headers


def _no_credential(send: Send) -> None:
    if send.credential:
        raise BadInput(
            f"credential={send.credential!r}: {send.queue!r} is sent to without one; it is for "
            "addresses as sms:+6591234567"
        )


def check_named(send: Send) -> None:
    """Refuse headers that the road alone sets. What it sends again keeps them."""
    if not isinstance(send, SendOnceMore):
        check_reserved(send.headers or ())
