"""A name server of our own, for domains that exist only here."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import cast

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from postroad.transports.smtp.resolver import DnsResolver

Zone = Mapping[tuple[str, str], list[str] | int]
"""Records by name and type; a number is an answer's code, as SERVFAIL."""


class NameServer(asyncio.DatagramProtocol):
    """Answers from its zone, and counts what it was asked."""

    def __init__(self, zone: Zone) -> None:
        self.zone = dict(zone)
        self.asked: list[tuple[str, str]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        (question,) = query.question
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked.append((name, kind))
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        known = self.zone.get((name, kind))
        if isinstance(known, int):
            answer.set_rcode(dns.rcode.Rcode(known))
        elif known:
            answer.answer.append(dns.rrset.from_text(question.name, 300, "IN", kind, *known))
        elif not any(known_name == name for known_name, _ in self.zone):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        self._transport.sendto(answer.to_wire(), address)


@asynccontextmanager
async def name_server(zone: Zone) -> AsyncIterator[tuple[NameServer, DnsResolver]]:
    """The server, and a resolver that asks nobody else."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(
        lambda: NameServer(zone), ("127.0.0.1", 0)
    )
    asking = dns.asyncresolver.Resolver(configure=False)
    asking.nameservers = ["127.0.0.1"]
    asking.port = transport.get_extra_info("sockname")[1]
    try:
        yield server, DnsResolver(asking)
    finally:
        transport.close()
