"""How a webhook's receiver knows us, and we know it: what is set for one queue, and sealed."""

from base64 import b64encode
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.model.texts import (
    FIELD_MAX,
    NAME_MAX,
    QUEUE_MAX,
    SECRET_MAX,
    Field,
    Name,
    QueueName,
    SecretText,
    checked,
    kind_of,
)

HIDDEN: Final = "(…)"
AUTHORIZATION: Final = "authorization"


class Secretive(Struct, frozen=True):
    """A value whose fields are shown nowhere."""

    def __repr__(self) -> str:
        return type(self).__name__ + HIDDEN


class BasicAuth(Secretive, frozen=True, tag="basic"):
    """A user and a password, sent with every request."""

    user: Name
    password: SecretText


class BearerAuth(Secretive, frozen=True, tag="bearer"):
    """A token, sent with every request."""

    token: SecretText


class OAuthClient(Secretive, frozen=True, tag="oauth"):
    """A client of an OAuth 2 server, which gives tokens for requests (client credentials)."""

    token_url: QueueName
    client_id: Name
    client_secret: SecretText
    scope: SecretText = ""
    audience: SecretText = ""
    in_body: bool = False
    """Whether id and secret are sent as fields, for servers that do not read them from the
    header."""


Auth = BasicAuth | BearerAuth | OAuthClient


class ClientTls(Secretive, frozen=True):
    """A certificate that we show, with its key; and the authorities that we trust instead of the
    system's. All are PEM."""

    certificate: Field = ""
    key: Field = ""
    ca: Field = ""


def authorization(auth: BasicAuth | BearerAuth) -> str:
    """Return the header's value that a user and password, or a token, make."""
    if isinstance(auth, BearerAuth):
        return f"Bearer {auth.token}"
    return f"Basic {b64encode(f'{auth.user}:{auth.password}'.encode()).decode()}"


LENGTHS: Final = {
    "user": NAME_MAX,
    "client_id": NAME_MAX,
    "token_url": QUEUE_MAX,
    "certificate": FIELD_MAX,
    "key": FIELD_MAX,
    "ca": FIELD_MAX,
}
NEEDED: Final = ("user", "token", "token_url", "client_id", "client_secret")


def check_lengths(given: Secretive) -> None:
    """Raise BadInput if a text of it is missing, too long or no text."""
    for name in given.__struct_fields__:
        value = getattr(given, name)
        if isinstance(value, bool) and name == "in_body":
            continue
        if not isinstance(value, str):
            raise BadInput(f"{name} is {kind_of(value)}: give a text")
        if not value and name in NEEDED:
            raise BadInput(f"{name} is empty: give one")
        _ = checked(name, value, LENGTHS.get(name, SECRET_MAX))  # whether it is short enough
