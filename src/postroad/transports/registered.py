"""The channels that come with Postroad. A new one is a folder beside this file, and a line here."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from postroad.model.webhook import WebhookRules
from postroad.ports.channel import Channel
from postroad.ports.clock import Clock
from postroad.transports.sms.channel import SmsChannel, WhatsAppChannel
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.channel import WebhookChannel
from postroad.transports.webhook.connections import IdleConnections
from postroad.transports.webhook.resolving import Resolve


class ChannelParts(Struct, frozen=True):
    """What channels are made of."""

    clock: Clock
    rules: WebhookRules
    idle: IdleConnections
    resolve: Resolve | None = None

    @property
    def http(self) -> Callable[[], VettedHttp]:
        """Makes a client that calls only vetted addresses."""
        return lambda: VettedHttp(self.rules, self.clock, self.idle, self.resolve)


def own_channels(parts: ChannelParts, given: Iterable[object] = ()) -> tuple[Channel, ...]:
    """The channels that every road has, and those that it was given."""
    own: tuple[Channel, ...] = (
        SmsChannel(parts.http),
        WhatsAppChannel(parts.http),
        WebhookChannel(parts.http, parts.clock),
    )
    return (*own, *(one for one in given if isinstance(one, Channel)))
