"""Networks: who counts as one stranger."""

from ipaddress import IPv6Address, ip_address


def network(address: str) -> str:
    """What counts as one visitor: an IPv4 address, or the /64 that an IPv6 one is chosen from."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> 64 << 64)}/64"
