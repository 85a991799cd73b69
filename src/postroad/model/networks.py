"""Networks, by which strangers are counted, and the proxies that tell where somebody comes from."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network


def network(address: str) -> str:
    """Return the network of an address: an IPv4 address itself, or the /64 of an IPv6 one."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> 64 << 64)}/64"


class Proxies:
    """The proxies whose `X-Forwarded-For` is believed."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._networks = [ip_network(each) for each in named]

    def has(self, address: str) -> bool:
        """Whether an address is one of them."""
        return _is_in(_parsed(address), self._networks)

    def client(self, proxy: str, forwarded: str) -> str:
        """Return the address that a proxy of ours was called from: the last in its header that is
        no proxy of ours. What is no address names nobody, and then it is the proxy itself."""
        for each in reversed(forwarded.split(",")):
            found = _parsed(_without_port(each.strip()))
            if found is None:
                return proxy
            if not _is_in(found, self._networks):
                return str(found)
        return proxy


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(address)
    except ValueError:
        return None


def _is_in(
    address: IPv4Address | IPv6Address | None, networks: Iterable[IPv4Network | IPv6Network]
) -> bool:
    return address is not None and any(address in each for each in networks)


def _without_port(text: str) -> str:
    """Return the address of `1.2.3.4:80` or `[::1]:80`."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text
