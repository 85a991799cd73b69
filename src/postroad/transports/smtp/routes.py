"""Which servers take a domain's mail, and which site they are: domains of one provider share its
lane."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from postroad.ports.clock import Chance
from postroad.transports.smtp.resolver import DnsResolver, MxRecord, NoSuchName
from postroad.transports.webhook.resolving import Unresolved
from postroad.transports.webhook.target import NAME, NAME_CHARACTERS_MAX

HOSTS_MAX: Final = 8
"""Servers of a domain that are tried."""
SITE_MAX: Final = 100
SECOND_LEVEL: Final = frozenset(
    (
        *("ac", "co", "com", "edu", "gen", "go", "gob", "gouv", "gov", "gv", "ltd", "mil"),
        *("ne", "net", "nic", "nom", "or", "org", "plc", "sch"),
    )
)
"""Under a country's two letters, names below these belong to different owners."""
COUNTRY: Final = re.compile(r"[a-z]{2}")


class NoMail(Exception):
    """The domain takes no mail, and says so. `code` is the enhanced one."""

    def __init__(self, said: str, code: str) -> None:
        super().__init__(said)
        self.code = code


class MailRoute(Struct, frozen=True):
    """The servers of a domain in the order in which they are tried."""

    hosts: tuple[str, ...]
    site: str


async def route(domain: str, resolver: DnsResolver, chance: Chance) -> MailRoute:
    """Find the servers of a domain; those that are as good as each other come in any order. Raises
    NoMail, and Unresolved when nobody knows now."""
    try:
        records = await resolver.mx(domain)
    except NoSuchName:
        raise NoMail(f"{domain} does not exist", "5.1.2") from None
    if not records:
        return MailRoute((domain,), site_of((domain,)))
    if all(not record.host or record.host == "." for record in records):
        raise NoMail(f"{domain} takes no mail (null MX)", "5.1.10")
    records.sort(key=lambda record: (record.preference, chance.random()))
    hosts = tuple(dict.fromkeys(record.host for record in records if _is_host(record)))
    if not hosts:
        raise Unresolved(f"the MX records of {domain} name no server")
    return MailRoute(hosts[:HOSTS_MAX], site_of(hosts))


def _is_host(record: MxRecord) -> bool:
    host = record.host
    named = len(host) <= NAME_CHARACTERS_MAX and NAME.fullmatch(host) is not None
    return named and not host.rpartition(".")[2].isdecimal()  # an address is no name


def site_of(hosts: Sequence[str]) -> str:
    """Name the site of servers: the name that its owner registered where that is the same for all
    of them, else the servers themselves."""
    owners = {registered(host) for host in hosts}
    if len(owners) == 1:
        return owners.pop()
    site = ",".join(sorted(hosts))
    if len(site) <= SITE_MAX:
        return site
    digest = blake2b(site.encode(), digest_size=8).hexdigest()
    return f"{min(owners)},{digest}"


def registered(host: str) -> str:
    """The name that somebody registered: the last two labels, or three under names as co.uk. There
    is no list of all such names here: who shares a lane wrongly shares its pace, and no more."""
    labels = host.split(".")
    below = len(labels) > 2 and COUNTRY.fullmatch(labels[-1]) and labels[-2] in SECOND_LEVEL
    return ".".join(labels[-3:] if below else labels[-2:])
