"""A webhook's URL, read once, by the client's own parser, and refused where two readings differ."""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from pyreqwest.http import Url

from postroad.model.errors import BadUrl
from postroad.model.webhook import WebhookRules
from postroad.transports.webhook.addresses import Address

URL_BYTES_MAX: Final = 2_048
NAME_CHARACTERS_MAX: Final = 253
# No blanks, controls, quotes or backslashes: parsers disagree about what they mean.
PLAIN: Final = re.compile(r"[!#-;=?-\[\]_a-z~A-Z]+")
NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
SHOWN_CHARACTERS: Final = 200


class Target(Struct, frozen=True):
    """Where a webhook goes."""

    url: Url
    scheme: str
    host: str
    """As the client spells it; this spelling is what is pinned."""
    port: int
    literal: Address | None

    @property
    def server(self) -> str:
        """Scheme, host and port: what makes a lane."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def authority(self) -> str:
        """Host and port as a request names them: the port only where it is not the usual one."""
        return str(self.url.authority)

    @property
    def path(self) -> str:
        """Path and query as a request names them."""
        query = self.url.query_string
        return self.url.path if query is None else f"{self.url.path}?{query}"


def read(text: str, rules: WebhookRules) -> Target:
    """The target of a URL, or a BadUrl that says why it is none."""
    _check_text(text)
    try:
        url = Url.parse(text)
        parts = urlsplit(text)
        spelled, spelled_port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _bad(text, str(error)) from None
    if url.username or url.password is not None or "@" in parts.netloc:
        raise _bad(text, "it carries a user or password: set headers with road.webhooks.set")
    if url.scheme != "https" and not (url.scheme == "http" and rules.http):
        raise _bad(text, "only https:// is taken; settings.webhooks.http lets http:// in")
    host = (url.host_str or "").strip("[]")
    literal = _literal(host)
    if literal is None and (len(host) > NAME_CHARACTERS_MAX or not NAME.fullmatch(host)):
        raise _bad(text, f"{host!r} is no name of a server (nor may it end with a dot)")
    if spelled != host and (literal is None or literal != _literal(spelled)):
        raise _bad(text, f"{spelled!r} is an odd way to write {host}")
    port = url.port_or_known_default or 0
    if url.port is not None and spelled_port != url.port:
        raise _bad(text, f"its port can be read as {spelled_port} and as {url.port}")
    taken = rules.ports and (*rules.ports, *((80,) if rules.http else ()))
    if taken and port not in taken:
        raise _bad(text, f"port {port} is not one of {taken}: see settings.webhooks.ports")
    return Target(url, url.scheme, host, port, literal)


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
    # A password is not for logs, nor is what follows a question mark.
    shown = re.sub(r"//[^/@]*@", "//…@", text.partition("?")[0])[:SHOWN_CHARACTERS]
    return BadUrl(f"{shown!r} cannot be a webhook: {why}")
