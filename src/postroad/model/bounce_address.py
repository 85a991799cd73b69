"""Where bounces and complaints are listened for: `lmtp://127.0.0.1:2424`, `smtp://…`."""

from typing import Annotated, Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct

from postroad.model.errors import BadInput
from postroad.model.mail_address import normal_mail

PORTS: Final = {"smtp": 25, "lmtp": 24}
FORM: Final = "lmtp://HOST:PORT or smtp://HOST:PORT"
LISTEN_MAX: Final = 1_024
PORT_MAX: Final = 65_535
FEEDBACK: Final = "feedback"


class BounceOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """What follows a question mark."""

    feedback: str = ""
    """The address for complaints; empty: `feedback@` the domain of return paths."""
    connections: Annotated[int, Meta(ge=1, le=10_000)] = 100
    """How many at once."""


class BounceAddress(Struct, frozen=True):
    """Where the listener is, and what it speaks."""

    scheme: str
    host: str
    port: int
    options: BounceOptions = BounceOptions()

    @property
    def url(self) -> str:
        """The address as it is shown."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def feedback(self, domain: str) -> str:
        """The address to which complaints are sent."""
        return (self.options.feedback or f"{FEEDBACK}@{domain}").lower()


def read_bounces(text: str) -> BounceAddress:
    """Read the address of a listener; BadInput says what is wrong."""
    if len(text) > LISTEN_MAX:
        raise BadInput(f"it has {len(text)} characters: at most {LISTEN_MAX}")
    way, _, query = text.partition("?")
    scheme, mark, place = way.partition("://")
    if not mark or scheme not in PORTS:
        raise BadInput(f"{text[:60]!r}: give {FORM}")
    host, mark, port = place.rstrip("/").rpartition(":")
    if not mark or port.endswith("]"):
        host, port = place.rstrip("/"), str(PORTS[scheme])
    if not host or not (port.isascii() and port.isdecimal() and int(port[:6]) <= PORT_MAX):
        raise BadInput(f"{text[:60]!r}: give {FORM}")
    return BounceAddress(scheme, host.strip("[]"), int(port), _options(query))


def _options(query: str) -> BounceOptions:
    try:
        given = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=10))
        options = msgspec.convert(given, BounceOptions, strict=False)
    except ValueError as error:  # msgspec's are such
        raise BadInput(
            f"its options: {str(error).lower()}; there are feedback=ADDRESS and connections=100"
        ) from None
    _ = options.feedback and normal_mail(options.feedback)  # whether it is an address
    return options
