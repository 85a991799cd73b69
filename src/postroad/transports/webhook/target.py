"""A webhook's URL, read once. Whatever two readers might read in two ways is refused."""

import re
from ipaddress import ip_address
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadUrl
from postroad.model.webhook import WebhookRules
from postroad.transports.webhook.addresses import Address

URL_BYTES_MAX: Final = 2_048
NAME_CHARACTERS_MAX: Final = 253
# No blanks, controls, quotes or backslashes: parsers disagree about what they mean.
PLAIN: Final = re.compile(r"[!#-;=?-\[\]_a-z~A-Z]+")
NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
PORT: Final = re.compile(r"[0-9]{1,5}")
PORT_MAX: Final = 65_535
USUAL_PORTS: Final = {"http": 80, "https": 443}
SHOWN_CHARACTERS: Final = 200


class Target(Struct, frozen=True):
    """The place that a webhook's URL names."""

    scheme: str
    host: str
    """In small letters; an address as `ipaddress` writes it."""
    port: int
    path: str
    """Path and query as they were given; `/` where there is none."""
    literal: Address | None

    @property
    def server(self) -> str:
        """Scheme, host and port: what makes a lane."""
        return f"{self.scheme}://{self.bracketed}:{self.port}"

    @property
    def authority(self) -> str:
        """Host and port as a request names them: the port only where it is not the usual one."""
        usual = self.port == USUAL_PORTS[self.scheme]
        return self.bracketed if usual else f"{self.bracketed}:{self.port}"

    @property
    def url(self) -> str:
        """All of it, in one spelling."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def bracketed(self) -> str:
        """The host as URLs write it."""
        return f"[{self.host}]" if ":" in self.host else self.host


def read(text: str, rules: WebhookRules) -> Target:
    """Read a URL; BadUrl says why it cannot be a webhook."""
    _check_text(text)
    scheme, mark, rest = text.partition("://")
    scheme = scheme.lower()
    if not mark or (scheme != "https" and not (scheme == "http" and rules.http)):
        raise _bad(text, "only https:// is taken; settings.webhooks.http lets http:// in")
    end = min(at for at in (rest.find("/"), rest.find("?"), len(rest)) if at >= 0)
    authority, path = rest[:end], rest[end:]
    if "@" in authority:
        raise _bad(text, "it carries a user or password: set auth instead")
    host, literal, port_text = _read_authority(text, authority)
    port = _read_port(text, port_text) if port_text else USUAL_PORTS[scheme]
    taken = rules.ports and (*rules.ports, *((80,) if rules.http else ()))
    if taken and port not in taken:
        raise _bad(text, f"port {port} is not one of {taken}: see settings.webhooks.ports")
    return Target(scheme, host, port, path if path.startswith("/") else f"/{path}", literal)


def _read_authority(text: str, authority: str) -> tuple[str, Address | None, str]:
    """The host in its one spelling, the address that it is, and the text of the port."""
    if authority.startswith("["):
        inside, mark, after = authority[1:].partition("]")
        literal = _literal(inside) if ":" in inside and "%" not in inside else None
        if literal is None or not mark or (after and not after.startswith(":")):
            raise _bad(text, f"{authority!r} is no IPv6 address")
        return str(literal), literal, after[1:]
    host, _, port = authority.lower().partition(":")
    literal = _literal(host)
    if literal is None and NUMBER.fullmatch(host.rpartition(".")[2]):
        # Many readers take 0x7f.1 and 2130706433 for addresses, each by rules of its own.
        raise _bad(text, f"{host!r} is an odd way to write an address: write 1.2.3.4")
    if literal is None and (len(host) > NAME_CHARACTERS_MAX or not NAME.fullmatch(host)):
        raise _bad(text, f"{host!r} is no name of a server (nor may it end with a dot)")
    return host, literal, port


def _read_port(text: str, port: str) -> int:
    if not PORT.fullmatch(port) or not 0 < int(port) <= PORT_MAX:
        # It is not shown: in user:pass/word@host what seems to be a port is half a password.
        raise _bad(text, f"what follows its colon is no port: give a number up to {PORT_MAX}")
    return int(port)


def _check_text(text: str) -> None:
    if len(text.encode(errors="replace")) > URL_BYTES_MAX:
        raise _bad(text, f"it is longer than {URL_BYTES_MAX} bytes")
    if not text.isascii():
        raise _bad(text, "it is not ASCII: write the host as xn--… and percent-encode the rest")
    if not PLAIN.fullmatch(text):
        raise _bad(
            text, "it has blanks, controls, quotes or backslashes in it: percent-encode them"
        )
    if "#" in text:
        raise _bad(text, "it has a fragment (#…), which no server ever sees")


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _bad(text: str, why: str) -> BadUrl:
    # A password is not for logs, wherever it ends, nor is what follows a question mark.
    _, user, rest = text.rpartition("@")
    shown = (f"…{user}{rest}" if user else rest).partition("?")[0][:SHOWN_CHARACTERS]
    return BadUrl(f"{shown!r} cannot be a webhook: {why}")
