"""The group `mail` of the settings."""

from msgspec import Struct

from postroad.model.near_names import NamesChecked


class MailSettings(Struct, metaclass=NamesChecked, frozen=True):
    """How mail of a road leaves, unless a credential says so."""

    relay: str = ""
    """`smtp://USER:PASSWORD@HOST:PORT`, `smtps://…`, or `mx`: straight to the servers of each
    domain. Empty: mail is sent with stored credentials alone."""
    sender: str = ""
    """Who mails are from that do not say it, as `Shop <shop@example.com>`."""
    allow: tuple[str, ...] = ()
    """Networks (CIDR) that mail servers may be in although they are private or special."""
    public_url: str = ""
    """Where recipients reach this server, as `https://road.example.com`: unsubscribe links of
    campaigns go there. Empty: mails have none."""
    bounce_domain: str = ""
    """The domain of return paths, as `bounces.example.com`: each mail has its own, so that a bounce
    names it. Empty: bounces go to the sender."""
    soft_bounces: str = "5/7d/3"
    """When soft bounces suppress a recipient: 5 within 7 days, over 3 different mails. Empty:
    never."""
    bounces: str = ""
    """Where bounces and complaints are listened for, as `lmtp://127.0.0.1:2424` or
    `smtp://0.0.0.0:25`. Empty: nowhere."""
