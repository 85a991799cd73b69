"""What the forms of credentials ask for, by kind."""

from typing import Any, Final

from msgspec import Struct

from postroad.dashboard.paging import Form, refusal, with_zone
from postroad.model.credential import SECRET


class FormField(Struct, frozen=True):
    """A field of a form, by the name that the API has for it."""

    name: str
    label: str
    example: str = ""
    needed: bool = False
    type: str = "text"
    choices: tuple[str, ...] = ()
    secret: bool = False
    lines: bool = False
    """Whether the value has line ends, which a password field would take away."""


class CredentialForm(Struct, frozen=True):
    """What is asked for a credential of one kind."""

    title: str
    note: str
    fields: tuple[FormField, ...]


_ANY: Final = (
    FormField("rate", "Limit, empty for none", "50/s,1000/h"),
    FormField("expires_at", "Expires (UTC), empty for never", type="datetime-local"),
)
_PRICE: Final = FormField("price", "Price of one segment, for estimates", "0.05", type="number")
_CALLBACK: Final = FormField(
    "callback", "This server's address, for reports", "https://road.example.com"
)
_ACCOUNT: Final = (
    FormField("provider", "Server of the provider", "https://api.twilio.com", needed=True),
    FormField("account", "Id of the account there", "AC…", needed=True),
    FormField("sender", "Number of the sender", "+15550000", needed=True),
)
_TOKEN: Final = FormField(SECRET, "Secret: the account's token", needed=True, secret=True)
KINDS: Final = {
    "sms": CredentialForm(
        "SMS",
        "An account at a provider of text messages.",
        (
            *_ACCOUNT,
            *_ANY,
            FormField("segments_max", "Segments that one SMS may have", "1", type="number"),
            _PRICE,
            _CALLBACK,
            _TOKEN,
        ),
    ),
    "whatsapp": CredentialForm(
        "WhatsApp",
        "An account at a provider of WhatsApp messages.",
        (*_ACCOUNT, *_ANY, _PRICE, _CALLBACK, _TOKEN),
    ),
    "smtp": CredentialForm(
        "Mail",
        "A relay that mails are handed to. Where none is named, that of the server's settings is "
        "used; `mx` sends straight to the servers of each domain.",
        (
            FormField("provider", "Server: the relay, or mx", "smtp://mail.example.com:587"),
            FormField("account", "Account: the user at the relay"),
            FormField("sender", "Sender of mails that name none", "Shop <shop@example.com>"),
            *_ANY,
            FormField("dkim_domain", "DKIM domain, empty for the sender's", "example.com"),
            FormField("dkim_selector", "DKIM selector", "road1"),
            FormField("callbacks", "Provider that reports", choices=("mailgun", "postmark", "ses")),
            FormField(SECRET, "Secret: the password at the relay", secret=True),
            FormField("callback_key", "Key of the provider's reports", secret=True),
            FormField("dkim_key", "DKIM private key, as PEM", secret=True, lines=True),
        ),
    ),
    "webhook": CredentialForm(
        "Webhook",
        "What campaigns to URLs are signed with.",
        (
            *_ANY,
            FormField(SECRET, "Secret that requests are signed with", needed=True, secret=True),
        ),
    ),
}
_SPEC: Final = ("provider", "account", "sender", "rate", "callback")


def kind_of(name: str) -> CredentialForm:
    """A kind of credential; a refusal if there is none of this name."""
    if (found := KINDS.get(name)) is None:
        raise refusal(f"kind {name[:40]!r}: there are {', '.join(KINDS)}")
    return found


def read_fields(form: Form, kind: str, stored: dict[str, Any]) -> dict[str, Any]:
    """A credential as the API takes it. `stored` is what there was of it: what its form does not
    ask for stays."""
    own = {name: stored.get(name, "") for name in _SPEC}
    options, secrets = dict(stored.get("options", {})), {}
    data: dict[str, Any] = {"kind": kind, "price": stored.get("price", 0.0)}
    data["segments_max"] = stored.get("segments_max", 1)
    for field in kind_of(kind).fields:
        text = form.one(field.name)
        if field.secret:
            if text := text.replace("\r\n", "\n"):
                secrets[field.name] = text
            elif field.name in stored.get("secrets", ()) and not form.one("without"):
                raise refusal(
                    f"{field.label}: give it again. What is stored is never read back, and what "
                    "changes is checked with it"
                )
        elif field.name == "segments_max":
            data[field.name] = form.number(field.name) if text else 1
        elif field.name == "price":
            data[field.name] = _price(text)
        elif field.name == "expires_at":
            data[field.name] = with_zone(text.strip()) or None
        elif field.name in own:
            own[field.name] = text.strip()
        else:
            options[field.name] = text.strip()
    filled = {name: text for name, text in options.items() if text}
    return {**data, **own, "secret": secrets.pop(SECRET, ""), "options": filled, "secrets": secrets}


def _price(text: str) -> float:
    try:
        return float(text or 0)
    except ValueError:
        raise refusal(f"price: {text[:40]!r} is no number: give one as 0.05") from None
