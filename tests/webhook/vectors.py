"""Ways to lead a webhook where it must not go: by class, as URLs or as what a name resolves to."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from zlib import crc32

from msgspec import Struct

from postroad.transports.webhook.addresses import V4, V6

INSIDE = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1")
PUBLIC = ("1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1")


class Vector(Struct, frozen=True):
    """`kind` is its class. A name is resolved to `first` when it is vetted and to `then` later."""

    kind: str
    url: str
    first: tuple[str, ...] = ()
    then: tuple[str, ...] = ()


def vectors(port: int) -> list[Vector]:
    """All of them, aimed at a port."""
    return [*_networks(port), *_embedded(port), *_spelled(port), *_rebound(port), *_schemes(port)]


def url_of(address: str, port: int) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{port}/hook"


def _ways(kind: str, address: str, port: int) -> Iterator[Vector]:
    """As a literal; as what a name is from the start; as what it becomes after it was vetted."""
    name = f"http://hook-{crc32(address.encode())}.example:{port}/hook"
    yield Vector(kind, url_of(address, port))
    yield Vector(kind, name, (address,), (address,))
    yield Vector(f"rebound to {kind}", name, ("1.1.1.1",), (address,))


def _networks(port: int) -> Iterator[Vector]:
    for v4, why in V4:
        for number in _three(int(v4[0]), v4.num_addresses):
            yield from _ways(f"v4 {why}", str(IPv4Address(number)), port)
    for v6, why in V6:
        for number in _three(int(v6[0]), v6.num_addresses):
            yield from _ways(f"v6 {why}", str(IPv6Address(number)), port)


def _three(first: int, size: int) -> list[int]:
    """From the beginning, the middle and the end of a network."""
    return sorted({first + min(1, size - 1), first + size // 2, first + size - 1})


def _embedded(port: int) -> Iterator[Vector]:
    for text in INSIDE:
        v4 = int(IPv4Address(text))
        forms = {
            "mapped": (0xFFFF << 32) | v4,
            "compatible": v4,
            "translated": (0xFFFF << 48) | v4,
            "NAT64": int(IPv6Address("64:ff9b::")) | v4,
            "local NAT64": int(IPv6Address("64:ff9b:1::")) | v4,
            "6to4": (0x2002 << 112) | (v4 << 80) | 1,
            "Teredo server": int(IPv6Address("2001::")) | (v4 << 64),
            "Teredo client": int(IPv6Address("2001::")) | (v4 ^ 0xFFFFFFFF),
            "ISATAP": int(IPv6Network("2a00:1450::/64")[0]) | (0x5EFE << 32) | v4,
            "ISATAP, global": int(IPv6Network("2a00:1450::/64")[0]) | (0x02005EFE << 32) | v4,
        }
        for form, number in forms.items():
            yield from _ways(f"embedded {form}", str(IPv6Address(number)), port)


def _spelled(port: int) -> Iterator[Vector]:
    spellings = {
        "octal": ("0177.0.0.1", "0177.0.0.01", "017700000001", "00000177.1"),
        "hexadecimal": ("0x7f.0.0.1", "0x7f000001", "0X7F.1", "0xa9.0xfe.0xa9.0xfe"),
        "decimal": ("2130706433", "2852039166", "167772161", "3232235777"),
        "short": ("127.1", "127.0.1", "10.1", "0"),
        "mixed bases": ("0x7f.0.01.1", "169.0376.0xa9fe", "0300.168.1.1"),
        "trailing dot": ("127.0.0.1.", "localhost.", "10.0.0.1.", "2130706433."),
        "full-width digits": ("１２７.0.0.1", "１２７。０。０。１", "⓪x7f.1", "①②⑦.0.0.1"),
        "percent-encoded": ("%31%32%37.0.0.1", "127%2e0%2e0%2e1", "%6cocalhost", "loc%61lhost"),
        "zone": ("[fe80::1%25eth0]", "[fe80::1%25lo]", "[::1%25lo]"),
        "mapped, dotted": ("[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]"),
        "long form": ("[0000:0000:0000:0000:0000:0000:0000:0001]", "[0:0::0:1]", "[::127.0.0.1]"),
        "idn": ("exämple.com", "ⓛocalhost", "xn--.com", "ｌocalhost", "faß.de"),
        "blanks": ("127.0.0.1 ", " 127.0.0.1", "127.0.0.1\t", "127.0.0\n.1", "127.0.0.1\x00"),
        "confusion": ("1.1.1.1\\@127.0.0.1", "127.0.0.1#.example.com", "127.0.0.1%23.example.com"),
        "labels": ("-a.example", "a..example", "a-.example", "a" * 64 + ".example", ".", ""),
    }
    for kind, hosts in spellings.items():
        for host in hosts:
            yield Vector(f"spelling: {kind}", f"http://{host}:{port}/hook", ("127.0.0.1",))
    for user in ("user@", "user:pass@", "1.1.1.1@", "1.1.1.1:80@", ":@", "%40@"):
        yield Vector("user info", f"http://{user}127.0.0.1:{port}/hook")


def _rebound(port: int) -> Iterator[Vector]:
    name = f"http://one.example:{port}/hook"
    for bad in (*INSIDE, "::1", "fc00::1", "64:ff9b::7f00:1"):
        yield Vector("name with a good and a bad address", name, ("1.1.1.1", bad), ("1.1.1.1", bad))
        yield Vector(
            "name with a bad address last", name, ("1.1.1.1",), ("1.1.1.1", "8.8.8.8", bad)
        )
    yield Vector("name that resolves to no address", name, ("not-an-address",), ("not-an-address",))


def _schemes(port: int) -> Iterator[Vector]:
    for scheme in ("file", "ftp", "gopher", "dict", "ldap", "ws", "data", "javascript"):
        yield Vector("scheme", f"{scheme}://127.0.0.1:{port}/hook")
    yield Vector("scheme: over-long", f"http://127.0.0.1:{port}/" + "a" * 2_048)
