"""The hubs that a road may send to, as its settings name them."""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadSetting
from postroad.model.near_names import NamesChecked

PORTS: Final = {"wss": 443, "ws": 80}
HOST: Final = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63}){0,126}")
OPTIONS: Final = ("allow", "tenants", "ca_file")
HOW: Final = "give wss://:TOKEN@HOST:PORT"


class KnownHub(Struct, metaclass=NamesChecked, frozen=True, forbid_unknown_fields=True):
    """A hub that messages may be sent to. Its token is shown to this hub and to nobody else."""

    url: str
    """`wss://host:port`. `ws://` is taken only to addresses that are named: a number in the URL, or
    a network in `allow`."""
    token: str = ""
    """The hub's own token for senders, its `hub_token`."""
    mailbox_tokens: dict[str, str] = {}
    """Sender tokens of single mailboxes, shown in place of `token`."""
    tenants: tuple[str, ...] = (DEFAULT_TENANT,)
    """Who may send there; `*` is every tenant."""
    allow: tuple[str, ...] = ()
    """Networks that its name may lead to although they are private or special."""
    ca_file: str = ""
    """Certificates to trust in place of the system's."""

    @property
    def server(self) -> str:
        """Host and port, as queues name them; BadSetting when the URL cannot be used."""
        host, port = self.place
        return server_name(host, port)

    @property
    def place(self) -> tuple[str, int]:
        """Return host and port; BadSetting when the URL cannot be used."""
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
        except ValueError as error:
            raise BadSetting(f"hubs: a URL cannot be read: {error}; {HOW}") from None
        if parts.scheme not in PORTS:
            raise BadSetting(f"hubs: {parts.scheme!r} is neither wss nor ws: {HOW}")
        if parts.username is not None or parts.password is not None:
            raise BadSetting("hubs: the token goes into token=…, not into the URL")
        if parts.path not in ("", "/") or parts.query or parts.fragment:
            raise BadSetting(f"hubs: {parts.hostname}: nothing but host and port in the URL")
        if not is_number(host) and not HOST.fullmatch(host):
            raise BadSetting(f"hubs: {host!r} is no name of a server: {HOW}")
        return host, port

    @property
    def shown(self) -> str:
        """The hub without its token."""
        return self.url


def server_name(host: str, port: int) -> str:
    """Join host and port."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_number(host: str) -> bool:
    """Whether a host is an IP address, not a name."""
    try:
        _ = ip_address(host)  # whether it can be read
    except ValueError:
        return False
    return True


def known_hub(text: str) -> KnownHub:
    """A hub from one line: wss://:TOKEN@HOST:PORT?tenants=NAME&allow=NETWORK&ca_file=PATH. The text
    is not repeated in errors: it has a token in it."""
    try:
        parts = urlsplit(text)
        asked = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
        token = unquote(parts.password or "")
        place = server_name(parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0))
    except ValueError:
        raise BadSetting(f"hubs: a line cannot be read: {HOW}") from None
    if parts.username:
        raise BadSetting(f"hubs: {place}: the token stands behind a colon: {HOW}")
    if odd := asked.keys() - set(OPTIONS):
        raise BadSetting(f"hubs: {place}: {min(odd)!r} is none of {', '.join(OPTIONS)}")
    return KnownHub(
        f"{parts.scheme}://{place}{parts.path}",
        token,
        tenants=tuple(asked.get("tenants", (DEFAULT_TENANT,))),
        allow=tuple(asked.get("allow", ())),
        ca_file=asked.get("ca_file", [""])[0],
    )
