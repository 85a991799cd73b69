"""Networks, by which strangers are counted."""

from ipaddress import IPv6Address, ip_address


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
