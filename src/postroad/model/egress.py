"""Egress proxies: what webhooks go out through, where a network lets nothing else out."""

import re
from base64 import b64encode
from collections.abc import Iterable
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import unquote

from postroad.model.access import Secretive
from postroad.model.errors import BadInput

NONE: Final = "none"
FORM: Final = "http://USER:PASSWORD@HOST:PORT"
PLACE: Final = re.compile(r"([a-zA-Z0-9._-]{1,253}|\[[0-9a-fA-F:.]{2,45}\]):([0-9]{1,5})")
PROXY_MAX: Final = 2_048
PORT_MAX: Final = 65_535


class EgressProxy(Secretive, frozen=True):
    """A proxy that makes tunnels (HTTP CONNECT)."""

    host: str
    port: int
    authorization: str = ""
    """The value of `proxy-authorization`; a secret."""

    @property
    def server(self) -> str:
        """Where it is, without its password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def read_proxy(text: str) -> EgressProxy | None:
    """Read a proxy; BadInput says what is wrong, and shows no password."""
    if text in ("", NONE):
        return None
    scheme, mark, rest = text.partition("://")
    if not mark or scheme != "http" or len(text) > PROXY_MAX:
        raise BadInput(f"the proxy is not {FORM}: tunnels are asked for over plain HTTP")
    login, at, place = rest.rpartition("@")
    found = PLACE.fullmatch(place.rstrip("/"))
    if found is None or not 0 < int(found[2]) <= PORT_MAX:
        raise BadInput(f"the proxy has no host and port: write {FORM}")
    user, _, password = login.partition(":")
    if at and not user:
        raise BadInput("the proxy has a password without a user")
    pair = f"{unquote(user)}:{unquote(password)}"
    authorization = f"Basic {b64encode(pair.encode()).decode()}" if at else ""
    return EgressProxy(_host(found[1]), int(found[2]), authorization)


def read_proxies(lines: Iterable[str]) -> dict[str, EgressProxy | None]:
    """Read the proxies of tenants: each as TENANT=PROXY, or PROXY alone for all other tenants,
    whose key is "". `none` is no proxy."""
    found: dict[str, EgressProxy | None] = {}
    for line in lines:
        tenant, mark, proxy = line.partition("=")
        if not mark or "://" in tenant:  # a password may hold a `=`
            tenant, proxy = "", line
        elif not tenant:
            raise BadInput(f"name the tenant, as TENANT={FORM} or TENANT={NONE}")
        if tenant in found:
            raise BadInput(
                f"give each tenant once, as TENANT={FORM}, and {FORM} once for all others"
            )
        found[tenant] = read_proxy(proxy)
    return found


def proxy_text(proxy: EgressProxy | None) -> str:
    """Say which proxy it is, without its password."""
    if proxy is None:
        return ""
    return proxy.server + (" (with a password)" if proxy.authorization else "")


def _host(text: str) -> str:
    if not text.startswith("["):
        return text.lower()
    try:
        return str(IPv6Address(text[1:-1]))
    except ValueError:
        raise BadInput(f"the proxy's address is none: write {FORM}") from None
