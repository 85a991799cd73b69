"""Which addresses a webhook may call. Our own list: `ipaddress.is_global` of Python 3.11 takes
NAT64, 6to4, mapped and multicast forms of 127.0.0.1 for global ones."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

V4: Final = tuple(
    (IPv4Network(network), why)
    for network, why in (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),
        ("169.254.0.0/16", "link-local, cloud metadata"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "AS112"),
        ("192.52.193.0/24", "multicast tunnels"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "AS112"),
        ("198.18.0.0/15", "benchmarks"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
# Checked in this order: the name of the narrower one is the better reason.
V6: Final = tuple(
    (IPv6Network(network), why)
    for network, why in (
        ("::1/128", "loopback"),
        ("::/128", "this host"),
        ("::ffff:0:0/96", "an IPv4 address, mapped"),
        ("::ffff:0:0:0/96", "an IPv4 address, translated"),
        ("::/96", "an IPv4 address, compatible form"),
        ("64:ff9b::/96", "NAT64"),
        ("64:ff9b:1::/48", "NAT64"),
        ("100::/64", "discard only"),
        ("2001::/32", "Teredo"),
        ("2001:2::/48", "benchmarks"),
        ("2001:10::/28", "ORCHID"),
        ("2001:20::/28", "ORCHID"),
        ("2001:db8::/32", "documentation"),
        ("2001::/23", "protocol assignments"),
        ("2002::/16", "6to4"),
        ("2620:4f:8000::/48", "AS112"),
        ("3ffe::/16", "6bone, gone"),
        ("3fff::/20", "documentation"),
        ("5f00::/16", "segment routing"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
GLOBAL_V6: Final = IPv6Network("2000::/3")
ISATAP: Final = (0x00005EFE, 0x02005EFE)
"""Bits 64 to 95 of an address that embeds an IPv4 one under any prefix."""


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Read CIDRs; ValueError names the one that is wrong."""
    return tuple(ip_network(text) for text in texts)


def forbidden(address: Address, allow: Sequence[Network] = (), deny: Sequence[Network] = ()) -> str:
    """Return why this address may not be called; "" when it may. Allowed networks are taken as
    written: 127.0.0.0/8 does not allow ::ffff:127.0.0.1."""
    if any(address in network for network in deny):
        return "denied by this road's settings"
    if any(address in network for network in allow):
        return ""
    if isinstance(address, IPv4Address):
        return next((why for network, why in V4 if address in network), "")
    if address.scope_id is not None:
        return "has a scope"
    if why := next((why for network, why in V6 if address in network), ""):
        return why
    if address not in GLOBAL_V6:
        return "not global unicast"
    return "an IPv4 address, ISATAP" if (int(address) >> 32) & 0xFFFFFFFF in ISATAP else ""
