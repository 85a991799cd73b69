"""The channels that come with Postroad. A new one is a folder beside this file, and a line here."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from postroad.model.keyring import KeyRing
from postroad.model.mail_links import MailLinks
from postroad.model.mail_settings import MailSettings
from postroad.model.webhook import WebhookRules
from postroad.ports.channel import Channel
from postroad.ports.clock import Clock
from postroad.transports.sms.channel import SmsChannel, WhatsAppChannel
from postroad.transports.smtp.attached import StoredAttachments
from postroad.transports.smtp.channel import MailParts, SmtpChannel
from postroad.transports.smtp.mta_sts import HttpsFile
from postroad.transports.smtp.resolver import DnsResolver
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.channel import WebhookChannel
from postroad.transports.webhook.connections import IdleConnections
from postroad.transports.webhook.resolving import Resolve


class ChannelParts(Struct, frozen=True):
    """What channels are made of."""

    clock: Clock
    rules: WebhookRules
    idle: IdleConnections
    mail: MailSettings
    ring: KeyRing
    store: object
    """Has the contents of attachments."""
    resolve: Resolve | None = None
    names: DnsResolver | None = None

    @property
    def http(self) -> Callable[[], VettedHttp]:
        """Makes a client that calls only vetted addresses."""
        return lambda: VettedHttp(self.rules, self.clock, self.idle, self.resolve)

    @property
    def of_mail(self) -> MailParts:
        """What mail is made of."""
        rules = WebhookRules(self.mail.allow, self.rules.deny, ports=(443,))
        http = VettedHttp(rules, self.clock, self.idle, self.resolve or self.names)
        file = HttpsFile(http)
        return MailParts(
            self.mail,
            self.rules.deny,
            self.clock,
            self.idle,
            links=MailLinks(self.ring, self.mail.public_url, self.mail.bounce_domain),
            blob=StoredAttachments(self.store).fetch,
            fetch=file.fetch,
            get=file.get,
            resolve=self.resolve,
            resolver=self.names,
        )


def own_channels(parts: ChannelParts, given: Iterable[object] = ()) -> tuple[Channel, ...]:
    """The channels that every road has, and those that it was given."""
    own: tuple[Channel, ...] = (
        SmsChannel(parts.http),
        WhatsAppChannel(parts.http),
        WebhookChannel(parts.http, parts.clock),
        SmtpChannel(parts.of_mail),
    )
    return (*own, *(one for one in given if isinstance(one, Channel)))
