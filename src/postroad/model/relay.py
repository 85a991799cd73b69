"""How mail leaves: through a relay (a smart host), or straight to the servers of each domain."""

import re
from enum import StrEnum
from ipaddress import ip_address
from typing import Annotated, Final
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Meta, Struct

from postroad.model.errors import BadInput

DIRECT: Final = "mx"
RELAY_MAX: Final = 2_048
PORTS: Final = {"smtp": 25, "smtps": 465}
SUBMISSION_PORT: Final = 587
PORT_MAX: Final = 65_535
NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
FORM: Final = "smtp://USER:PASSWORD@HOST:PORT, smtps://… or mx"


class Tls(StrEnum):
    """Whether what is said to a server is encrypted."""

    required = "required"
    """With a certificate for the server's name, or nothing is sent."""
    opportunistic = "opportunistic"
    """If the server offers it, whatever its certificate."""
    none = "none"


class RelayOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """How servers are spoken to: what follows a question mark."""

    tls: Tls | None = None
    """How TLS is used. None: `required` of a relay that is not on this machine, else
    `opportunistic`."""
    sessions: Annotated[int, Meta(ge=1, le=100)] = 8
    """Connections to one site at once."""
    mails: Annotated[int, Meta(ge=1, le=100_000)] = 100
    """Mails that are sent on one connection."""
    hello: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9._:\[\]-]{0,253}$")] = ""
    """The name that servers are greeted with; empty is this machine's."""


class MailRelay(Struct, frozen=True):
    """A way that mail takes. Without a host it goes straight to the servers of each domain."""

    host: str = ""
    port: int = 25
    wrapped: bool = False
    """TLS from the first byte (smtps)."""
    user: str = ""
    password: str = ""
    options: RelayOptions = RelayOptions()

    @property
    def direct(self) -> bool:
        """Whether there is no relay."""
        return not self.host

    @property
    def server(self) -> str:
        """What names its lane: never its password."""
        scheme = "smtps" if self.wrapped else "smtp"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return DIRECT if self.direct else f"{scheme}://{host}:{self.port}"


def read_relay(text: str) -> MailRelay:
    """Read a relay; BadInput says what is wrong, and shows no password."""
    if len(text) > RELAY_MAX:
        raise BadInput(f"the relay has {len(text)} characters: at most {RELAY_MAX}")
    way, _, query = text.partition("?")
    options = _options(query)
    if way == DIRECT:
        return MailRelay(options=options)
    scheme, mark, rest = way.partition("://")
    if not mark or scheme not in PORTS:
        raise BadInput(f"the relay is not {FORM}")
    login, mark, place = rest.rpartition("@")
    user, _, password = login.partition(":")
    if mark and not (user and password):
        raise BadInput("the relay has a user without a password, or a password without a user")
    host, port = _place(place.rstrip("/"))
    usual = SUBMISSION_PORT if mark and scheme == "smtp" else PORTS[scheme]
    return MailRelay(
        host,
        port or usual,
        scheme == "smtps",
        unquote(user),
        unquote(password),
        options,
    )


def _place(text: str) -> tuple[str, int]:
    host, port = text.lower(), ""
    if host.startswith("["):
        host, mark, port = host[1:].partition("]")
        port = port.removeprefix(":")
        known = mark and _is_address(host)
    else:
        host, _, port = host.partition(":")
        known = _is_address(host) or (len(host) <= 253 and NAME.fullmatch(host) is not None)
    if not known:
        raise BadInput(f"what follows the relay's scheme is no host: write {FORM}")
    if port and not (port.isdecimal() and len(port) <= 5 and 0 < int(port) <= PORT_MAX):
        raise BadInput(f"the relay's port is no number up to {PORT_MAX}")
    return host, int(port or 0)


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _options(query: str) -> RelayOptions:
    try:
        given = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=10))
        return msgspec.convert(given, RelayOptions, strict=False)
    except ValueError as error:  # msgspec's are such
        raise BadInput(
            f"the relay's options: {str(error).lower()}; there are "
            "tls=required|opportunistic|none, sessions=8, mails=100 and hello=NAME"
        ) from None
